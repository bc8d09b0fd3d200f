package capture

// A Look is a request that is to be looked at, as it is known by now. The same request comes again
// as more becomes known of it.
type Look struct {
	Request Request
	// Settled says that all is there that is expected: what the request does not show, it did not do.
	// A request settles once; what comes later is not settled.
	Settled bool
}
