// Package messagesapi is a scripted stand-in for the Anthropic Messages API, for
// tests that run the real claude CLI without a network.
//
// It answers POST /v1/messages with server-sent events, and POST
// /v1/messages/count_tokens; any other route is a 404. It is strict about what a
// message of the gateway can break: the real API would refuse content that it
// refuses, so that a test does not pass on bytes that would fail outside.
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
//	slow N [TEXT]         stream one word every 250 ms for N seconds, then TEXT
//	gate NAME TEXT        stream half of TEXT, wait for the release, stream the rest
//	hang                  start the reply, then only pings, until the client leaves
//	cut                   stream a little text, then drop the connection
//	tool:NAME JSON|CMD    one tool call, then a final text quoting its result; for
//	                      bash a bare string is the command
//	tools:NAME N CMD      N tool calls, one per model request, then a final text
//	error STATUS [xN|model=M]
//	                      an API error of that HTTP status; xN: only the first N
//	                      requests with this text fail; model=M: only those for M
//	usage IN OUT [TEXT]   reply TEXT and report that token usage
//	history               reply with the conversation as it was received
//	image                 reply "N image(s): TYPE, …" for this user message
//	size                  reply "N bytes", the length of this user text
//
// Any other text is answered "ok: " and its first 200 bytes. A directive
// whose argument makes no sense is answered 400 with the reason.
package messagesapi

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

// A Standin is the API as an [http.Handler], with what a test needs to watch
// and steer it. All methods are safe for concurrent use.
type Standin struct {
	routes *http.ServeMux
	salt   string // a conversation may be resumed against a second stand-in, and the API wants tool ids to be unique
	lastID atomic.Int64

	mu    sync.Mutex // protects the fields below
	seen  []Seen
	tries map[string]int // requests seen per text of an error directive
	gates map[string]*gate
}

// New makes a stand-in. It starts no goroutine and needs no closing.
func New() *Standin {
	s := &Standin{routes: http.NewServeMux(), salt: rand.Text()[:8], tries: map[string]int{}, gates: map[string]*gate{}}
	s.routes.HandleFunc("POST /v1/messages", s.serveMessages)
	s.routes.HandleFunc("POST /v1/messages/count_tokens", s.serveCountTokens)
	s.routes.HandleFunc("/", s.serveUnknown)
	return s
}

// ServeHTTP answers one request. A reply that is held, slow or hanging ends
// when the request's context does.
func (s *Standin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.routes.ServeHTTP(w, r)
}

func (s *Standin) nextID(prefix string) string {
	return fmt.Sprintf("%s_%s%06d", prefix, s.salt, s.lastID.Add(1))
}

// tried counts one more request with text and returns how many there were.
func (s *Standin) tried(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries[text]++
	return s.tries[text]
}

// Seen is what the stand-in keeps of one request to /v1/messages.
type Seen struct {
	N           int         // 1 for the first request
	Header      http.Header // as received
	Bytes       int         // length of the body
	Rejected    string      // why it was answered 400; "" if it was taken
	Model       string
	Directive   string   // its first word, such as "echo" or "tool:bash"; "" if none
	Text        string   // the user text that chose the reply, reminders removed
	UserTexts   []string // every user text of the conversation, oldest first
	ToolResults []string // those of the latest user message that has any
	Tools       []string // names of the offered tools
	System      string   // the system prompt, blocks joined by newlines
}

// Count returns how many requests to /v1/messages have arrived, refused ones
// included.
func (s *Standin) Count() int { return len(s.Requests()) }

// Requests returns the requests to /v1/messages in order of arrival. The
// caller must not change what the elements refer to.
func (s *Standin) Requests() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// A gate is two one-way events.
type gate struct {
	held, open         chan struct{}
	closeHeld, release func()
}

// gate returns the gate of that name, made on first use by either side.
func (s *Standin) gate(name string) *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gates[name] == nil {
		held, open := make(chan struct{}), make(chan struct{})
		s.gates[name] = &gate{held, open, sync.OnceFunc(func() { close(held) }), sync.OnceFunc(func() { close(open) })}
	}
	return s.gates[name]
}

// wait blocks until the gate is open or ctx ends.
func (g *gate) wait(ctx context.Context) error {
	g.closeHeld()
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Held returns a channel that is closed once a reply has reached the gate of
// that name. It stays closed.
func (s *Standin) Held(name string) <-chan struct{} { return s.gate(name).held }

// Release opens the gate of that name for good: replies held there go on, later
// ones pass. It may come before the reply and may be repeated.
func (s *Standin) Release(name string) { s.gate(name).release() }
