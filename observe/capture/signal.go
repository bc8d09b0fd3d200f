package capture

import "time"

// A Signal is something that the app told of itself, by OpenTelemetry, by an SDK, or in its output.
// It says which request it belongs to as far as it knows, and carries one of Span, Query, Fetch, Log
// and Fault, or several.
type Signal struct {
	Request string  // the id of the request; empty: unknown
	Trace   TraceID // zero: unknown
	Span    SpanID  // of the step that tells; zero: unknown
	Parent  SpanID  // of the step above; zero: unknown
	Server  bool    // the step answers a request, and ends with the answer

	At    time.Time
	Query *Query
	Fetch *Fetch
	Log   *Log
	Fault *Fault
}
