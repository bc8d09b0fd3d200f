// Package messagesapi is a scripted stand-in for the Anthropic Messages API, for tests that
// run the real claude CLI without a network.
//
// It answers POST /v1/messages with server-sent events, and POST /v1/messages/count_tokens;
// any other route is a 404. It refuses the content that the real API would refuse, so that
// no test passes on bytes that would fail outside.
//
// # Directives
//
// The text the user sends chooses the reply. The directive is the first line, in the last
// user text that has one, whose first word is one of those below; a context line or a system
// reminder before it does not matter. It holds for the whole turn: the tool calls that follow
// are counted. A message sent while a turn runs may carry a directive too, which then
// replaces the first.
//
//	echo TEXT             reply TEXT
//	slow N TEXT           stream one word every 250 ms for N seconds, then TEXT
//	gate NAME TEXT        stream half of TEXT, wait for the release, stream the rest
//	hang                  start the reply, then only pings, until the client leaves
//	tool:NAME JSON|CMD    one tool call, then a final text quoting its result; for
//	                      bash a bare string is the command
//	tools:NAME N CMD      N tool calls, one per model request, then a final text
//	calls [{"tool":NAME,"input":OBJECT},…]
//	                      these tool calls, one per model request, then a final text
//	error STATUS [xN|model=M]
//	                      an API error of that HTTP status; xN: only the first N
//	                      requests with this text fail; model=M: only those for M
//	usage IN OUT TEXT     reply TEXT, a word, and report that token usage
//	history               reply with the conversation as it was received
//	image                 reply "N image(s): TYPE, …" for this user message
//	size                  reply "N bytes", the length of this user text
//
// Any other text is answered "ok: " and its first 200 bytes. A directive whose argument makes
// no sense is answered 400 with the reason.
package messagesapi

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A Standin is the API as an [http.Handler], with what a test needs to watch and steer it.
// All methods are safe for concurrent use.
type Standin struct {
	salt   string // a conversation may be resumed against a second stand-in, and the API wants tool ids to be unique
	lastID atomic.Int64

	mu    sync.Mutex // protects the fields below
	seen  []Seen
	tries map[string]int // requests seen per text of an error directive
	gates map[string]*gate
}

// A gate is two one-way events.
type gate struct {
	held, open         chan struct{}
	closeHeld, release func()
}

// New returns a stand-in, which starts no goroutine and needs no closing.
func New() *Standin {
	return &Standin{salt: rand.Text()[:8], tries: map[string]int{}, gates: map[string]*gate{}}
}

// Seen is what the stand-in keeps of one request to /v1/messages.
type Seen struct {
	N           int    // 1 for the first request
	Rejected    string // why it was answered 400; "" if it was taken
	Model       string
	Directive   string   // its first word, such as "echo" or "tool:bash"; "" if none
	Text        string   // the user text that chose the reply, reminders removed
	UserTexts   []string // every user text of the conversation, oldest first
	ToolResults []string // those of the latest user message that has any
	Tools       []string // names of the offered tools
	System      string   // the system prompt, blocks joined by newlines
}

// Requests returns the requests to /v1/messages in order of arrival, refused ones included.
func (s *Standin) Requests() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Count returns how many requests to /v1/messages have arrived.
func (s *Standin) Count() int { return len(s.Requests()) }

// Held returns a channel that is closed once a reply has reached the gate of that name.
func (s *Standin) Held(name string) <-chan struct{} { return s.gate(name).held }

// Release opens the gate of that name for good. It may come before the reply and may be
// repeated.
func (s *Standin) Release(name string) { s.gate(name).release() }

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

// ServeHTTP answers one request. A reply that is held, slow or hanging ends when the
// request's context does.
func (s *Standin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req, size, rejected := read(r)
	switch route := r.Method + " " + r.URL.Path; {
	case route == "POST /v1/messages":
		rejected = s.serveMessage(w, r, req, size, rejected)
	case route != "POST /v1/messages/count_tokens":
		rejected = &apiError{http.StatusNotFound, "Not found: " + route}
	case rejected == nil:
		writeJSON(w, http.StatusOK, map[string]any{"input_tokens": size / 4})
	}
	if rejected != nil {
		id := s.nextID("req")
		w.Header().Set("request-id", id)
		writeJSON(w, rejected.status, map[string]any{
			"type": "error", "error": map[string]any{"type": errorTypes[rejected.status], "message": rejected.message}, "request_id": id,
		})
	}
}

// serveMessage streams the reply to a request, or returns why there is none.
func (s *Standin) serveMessage(w http.ResponseWriter, r *http.Request, req *request, size int, rejected *apiError) *apiError {
	if rejected == nil {
		rejected = req.validate()
	}
	t := findTurn(req)
	s.record(req, &t, rejected)
	if rejected != nil {
		return rejected
	}
	play, rejected := s.script(req, t)
	if rejected == nil && !req.Stream { // the CLI asks so after some errors, only to be told the error again
		rejected = badRequest("API stand-in: only streams are scripted")
	}
	if rejected != nil {
		return rejected
	}
	w.Header().Set("request-id", s.nextID("req"))
	out := &Stream{w: w, ctx: r.Context(), id: s.nextID("msg"), model: req.Model, in: size / 4}
	if play(out); out.err != nil {
		panic(http.ErrAbortHandler) // how net/http drops a connection on purpose
	}
	return nil
}

func (s *Standin) record(req *request, t *turn, rejected *apiError) {
	seen := Seen{
		Model: req.Model, Directive: t.String(), Text: t.text, UserTexts: req.userTexts(),
		ToolResults: req.toolResults(), Tools: req.toolNames(), System: req.System.text("\n"),
	}
	if rejected != nil {
		seen.Rejected = rejected.message
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	seen.N = len(s.seen) + 1
	s.seen = append(s.seen, seen)
}

// read checks the headers and decodes the body. The request is never nil; it is empty as far
// as it could not be read.
func read(r *http.Request) (req *request, size int, rejected *apiError) {
	req = &request{}
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		rejected = badRequest("reading the body: %v", err)
	case r.Header.Get("X-Api-Key") == "" && !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "):
		rejected = &apiError{http.StatusUnauthorized, "x-api-key header is required"}
	case r.Header.Get("Anthropic-Version") == "":
		rejected = badRequest("anthropic-version: header is required")
	default:
		if err := json.Unmarshal(body, req); err != nil {
			return &request{}, len(body), badRequest("The request body is not valid: %v", err)
		}
	}
	return req, len(body), rejected
}

// An apiError is an answer in the API's error form.
type apiError struct {
	status  int
	message string
}

// badRequest is the API's answer to a request of the wrong shape.
func badRequest(format string, args ...any) *apiError {
	return &apiError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// errorTypes are the values of error.type that go with a status:
// platform.claude.com/docs/en/api/errors. 529 is the API's own "overloaded".
var errorTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
	413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that left needs no answer
}
