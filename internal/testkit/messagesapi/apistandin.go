// Package messagesapi is a scripted stand-in for the Anthropic Messages API, for
// tests that run the real claude CLI without a network.
//
// It answers POST /v1/messages (JSON and server-sent events), POST
// /v1/messages/count_tokens and GET /v1/models; any other route is a 404. It is
// strict: a request the real API would refuse is refused with the same status
// and error type, so that a test does not pass on bytes that would fail outside.
//
// # Directives
//
// The text the user sends chooses the reply. The directive is the first line,
// in the last user text that has one, whose first word is one of those below;
// a context line or a system reminder before it does not matter. It holds for
// the whole turn: the tool calls that follow are counted. A message sent while
// a turn runs may carry a directive too, which then replaces the first.
//
//	echo TEXT             reply TEXT
//	think TEXT            a thinking block, then reply TEXT
//	slow N [TEXT]         stream one word every 250 ms for N seconds, then TEXT
//	delay N [TEXT]        send nothing at all for N seconds, then reply TEXT
//	gate NAME             send nothing at all until [Standin.Release] of NAME
//	gate NAME TEXT        stream half of TEXT, wait for the release, stream the rest
//	hang                  start the reply, then only pings, until the client leaves
//	cut                   stream a little text, then drop the connection
//	tool:NAME JSON|CMD    one tool call, then a final text quoting its result; for
//	                      bash and read a bare string is the command or the path
//	tools:NAME N CMD      N tool calls, one per model request, then a final text
//	par:NAME N CMD        N tool calls in one model request, then a final text
//	seq JSON              [{"name":N,"input":{…}},…]: those calls, one per request
//	error STATUS [xN|model=M]
//	                      an API error of that HTTP status; xN: only the first N
//	                      requests with this text fail; model=M: only those for M
//	streamerror TYPE      an error event in the middle of the stream
//	maxtokens TEXT        reply TEXT with stop_reason max_tokens
//	refuse                an empty reply with stop_reason refusal
//	schema JSON           call the StructuredOutput tool once with JSON
//	schema-wrong JSON     the same, repeated on every request of the turn
//	schema-text TEXT      reply TEXT and never call StructuredOutput
//	usage IN OUT [TEXT]   reply TEXT and report that token usage
//	history               reply with the conversation as it was received
//	toolnames             reply with the sorted names of the offered tools
//	sysprompt             reply with the length and the end of the system prompt
//	image                 reply "N image(s): TYPE, …" for this user message
//	size                  reply "N bytes", the length of this user text
//
// Any other text is answered "ok: " and its first 200 bytes. A directive
// whose argument makes no sense is answered 400 with the reason.
package messagesapi

import (
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Options tune a stand-in. The zero value is right for most tests.
type Options struct {
	Log          *slog.Logger  // one debug line per request; nil discards
	SlowStep     time.Duration // pause between the words of slow; 0 means 250 ms
	PingInterval time.Duration // pause between the pings of hang; 0 means 5 s
}

// A Standin is the API as an [http.Handler], with what a test needs to watch
// and steer it. All methods are safe for concurrent use.
type Standin struct {
	opts   Options
	routes *http.ServeMux
	ids    *idSource
	gates  gates
	record record

	mu    sync.Mutex     // protects the field below
	tries map[string]int // requests seen per text of an error directive
}

// New makes a stand-in. It starts no goroutine and needs no closing.
func New(opts Options) *Standin {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.SlowStep <= 0 {
		opts.SlowStep = 250 * time.Millisecond
	}
	if opts.PingInterval <= 0 {
		opts.PingInterval = 5 * time.Second
	}
	s := &Standin{opts: opts, routes: http.NewServeMux(), ids: newIDSource(), tries: map[string]int{}}
	s.routes.HandleFunc("POST /v1/messages", s.serveMessages)
	s.routes.HandleFunc("POST /v1/messages/count_tokens", s.serveCountTokens)
	s.routes.HandleFunc("GET /v1/models", s.serveModels)
	s.routes.HandleFunc("/", s.serveUnknown)
	return s
}

// ServeHTTP answers one request. A reply that is held, slow or hanging ends
// when the request's context does.
func (s *Standin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.routes.ServeHTTP(w, r)
}

// tried counts one more request with text and returns how many there were.
func (s *Standin) tried(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries[text]++
	return s.tries[text]
}
