// Package capture keeps what is known of the requests to a web app: what passed the proxy, and what
// the app itself told of its queries, calls, logs and errors while it answered.
//
// Everything in a [Request] may be shown to anybody who may see the observer at all: a secret is
// replaced by its length (see [Mask]) before a request or a signal is made, so that neither the disk
// nor the API, a tool, a log or a chat can have it.
package capture

import (
	"encoding/hex"
	"net/http"
	"time"
)

// A TraceID names a chain of requests through several processes, as in W3C Trace Context.
type TraceID [16]byte

// A SpanID names a step of such a chain. The zero value names none.
type SpanID [8]byte

// String returns the id as 32 hex digits.
func (t TraceID) String() string { return hex.EncodeToString(t[:]) }

// String returns the id as 16 hex digits.
func (s SpanID) String() string { return hex.EncodeToString(s[:]) }

// A Request is one request to the app. A Request that a [Store] has returned is a copy, whose slices
// and maps must not be changed.
type Request struct {
	ID    string // unique within an observer: 16 hex digits, or what an SDK in the app has sent
	Trace TraceID
	Span  SpanID // the proxy's own step, which the app's steps have as parent; zero: did not pass the proxy

	Run      int    // counts the starts of the app: 1 is the first
	Client   string // the same for requests of one browser or program
	Method   string
	URL      string // path and query
	Endpoint string // see Endpoint
	HTTPS    bool   // the app itself serves HTTPS

	Started time.Time
	Took    time.Duration // until the last byte of the response
	Status  int           // 0: no response
	End     End

	Sent     Message
	Received Message

	Evidence Evidence
	Queries  []Query
	Fetches  []Fetch
	Logs     []Log
	Faults   []Fault
	Dropped  int // signals beyond maxSignals
}

// An End is how a request ended.
type End string

// The ends of requests.
const (
	Pending    End = ""            // not yet
	Complete   End = "complete"    // the response came whole
	AppFailed  End = "app_failed"  // the app refused the connection, or closed it too early
	ClientGone End = "client_gone" // the client did not wait for the whole response
	Upgraded   End = "upgraded"    // became a WebSocket or the like, which has since ended
)

// A Message is the request or the response as it passed the proxy.
type Message struct {
	Header http.Header // values of Authorization, Cookie and Set-Cookie are masked
	Media  string      // the media type, in lowercase and without parameters
	Size   int64       // of the body on the wire, in bytes
	Body   []byte      // decompressed and masked, at most MaxBody; nil: was not kept
	Cut    bool        // Body is the beginning only
}

// MaxBody is how much of a body is kept, in bytes. Cut JSON cannot be read, and four rules look into it.
const MaxBody = 64 << 10

// Evidence says which sources have told of a request. A request without a source proves nothing
// about what only that source can show.
type Evidence uint8

// The sources.
const (
	Response Evidence = 1 << iota // the response passed the proxy, whole
	Body                          // and its body was kept whole
	Traced                        // the app told of its steps
	Queried                       // the app told of its steps, and since its start of at least one query of any request
	Logged                        // the app's logs are known
)

// Has reports whether the evidence includes all of the other.
func (e Evidence) Has(other Evidence) bool { return e&other == other }

// A Query is a query that the app sent to a database for a request.
type Query struct {
	At     time.Time
	Took   time.Duration
	System string // such as postgresql
	Text   string // at most MaxText
	Shape  string // the text without its literals: see Shape
	Table  string // the first one that the query names; empty: unknown
	Values string // the parameters, masked; empty: there are none, or ValuesKnown is false
	// ValuesKnown says that two runs with the same Text and Values were the same query. Many
	// instrumentations tell the text with placeholders, and not what stood in their place.
	ValuesKnown bool
	Rows        int // -1: unknown
	Failed      bool
}

// A Fetch is an HTTP request of the app for a request.
type Fetch struct {
	At     time.Time
	Took   time.Duration
	Method string
	URL    string
	Status int // 0: no response
}

// A Log is a line that the app logged.
type Log struct {
	At    time.Time
	Level string // lowercase, as the app said; empty: unknown
	Text  string // at most MaxText
	From  string // stdout, stderr, otlp or sdk
}

// A Fault is an error that the app did not handle.
type Fault struct {
	At      time.Time
	Name    string // the type of the error
	Message string
	Stack   string // at most MaxText
}

// MaxText is how much of a query, a log line or a stack is kept, in bytes.
const MaxText = 4 << 10

// maxSignals is how many queries, fetches, logs and faults of one request are kept, each.
const maxSignals = 1000
