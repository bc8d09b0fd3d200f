package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/core"
)

// maxBody bounds a request, in bytes.
const maxBody = 4 << 20

// maxEvents bounds what is kept for clients that resume a stream, in bytes of all sessions.
const maxEvents = 2 << 20

// statelessFrom is the first protocol version without sessions.
const statelessFrom = "2026-07-28"

const (
	headerVersion = "Mcp-Protocol-Version"
	headerSession = "Mcp-Session-Id"
	// Set here alone: calls do not have the context of their request.
	headerLocal  = "Bareclaw-Local"
	headerClient = "Bareclaw-Client" // of requests that end with their client: a key of clients
)

// clients are the clients of requests under way, by number: channels that are closed when they leave.
type clients struct {
	last atomic.Int64
	gone sync.Map // of <-chan struct{}
}

// add adds the client of a request, and returns its number.
func (c *clients) add(r *http.Request) (number string, remove func()) {
	number = strconv.FormatInt(c.last.Add(1), 10)
	c.gone.Store(number, r.Context().Done())
	return number, func() { c.gone.Delete(number) }
}

// find returns the channel that is closed when a client leaves; nil for an unknown number.
func (c *clients) find(number string) <-chan struct{} {
	gone, _ := c.gone.Load(number)
	ch, _ := gone.(<-chan struct{})
	return ch
}

// A Handler serves all versions of MCP, from 2024-11-05 to 2026-07-28, on one URL. The SDK has a
// handler for each kind of client, and the Handler chooses by the request. Sessions go on when
// the process is replaced.
type Handler struct {
	clients   *clients // of requests outside of sessions
	sessions  *sessions
	stateful  http.Handler // sessions and streams, up to 2025-11-25
	stateless http.Handler // without sessions, from 2026-07-28
	plain     http.Handler // answers in JSON, for curl and scripts
}

// NewHandler returns a handler for an SDK server.
func NewHandler(server *sdk.Server, log *slog.Logger) *Handler {
	get := func(*http.Request) *sdk.Server { return server }
	events := sdk.NewMemoryEventStore(nil)
	events.SetMaxBytes(maxEvents)
	options := sdk.StreamableHTTPOptions{Logger: quiet(log), MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true} // the API has its own
	stateful, stateless, plain := options, options, options
	stateful.EventStore = events // and sessions ends those that are not used
	stateless.Stateless, stateless.PropagateRequestCancellation = true, true
	plain.Stateless, plain.JSONResponse = true, true
	return &Handler{
		&clients{},
		&sessions{server: server, events: events, all: map[string]*session{}},
		sdk.NewStreamableHTTPHandler(get, &stateful), sdk.NewStreamableHTTPHandler(get, &stateless), sdk.NewStreamableHTTPHandler(get, &plain),
	}
}

// Handler returns a handler for the server's tools.
func (s *Server) Handler() *Handler {
	h := NewHandler(s.sdk, s.log)
	h.clients = &s.clients
	return h
}

// IsStream reports whether a request to a Handler opens a stream that lasts as long as its client: one
// of a session, or a subscription.
func IsStream(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == "subscriptions/listen"
}

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := &answer{ResponseWriter: w}
	w = answer
	r.Header.Del(headerLocal)
	r.Header.Del(headerClient)
	if core.IsLocal(r.Context()) {
		r.Header.Set(headerLocal, "true")
	}
	m, ok := readMessage(w, r)
	if !ok {
		return
	}
	answer.id = m.ID
	session := r.Header.Get(headerSession)
	switch {
	case r.Header.Get(headerVersion) >= statelessFrom:
		h.stateless.ServeHTTP(w, r)
	case m.Method != "" && m.ID != nil && !isMethod(m.Method):
		writeError(w, http.StatusOK, m.ID, jsonrpc.CodeMethodNotFound, fmt.Sprintf("there is no method %.120s", m.Method))
	case m.Method == "initialize": // begins a session, also where the client has one
		r.Header.Del(headerSession)
		answer.begun = func(id string) { h.sessions.begun(id, h.stateful) }
		h.begin(w, r, h.stateful)
	case session != "":
		h.serveSession(w, r, session)
	case r.Method != http.MethodPost:
		h.stateful.ServeHTTP(w, r) // refuses the request
	default:
		h.begin(w, r, h.stateless)
	}
}

// begin serves a request outside of sessions: with streams for a client that takes them.
func (h *Handler) begin(w http.ResponseWriter, r *http.Request, streams http.Handler) {
	number, remove := h.clients.add(r)
	defer remove()
	r.Header.Set(headerClient, number)
	if strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/event-stream") {
		streams.ServeHTTP(w, r)
		return
	}
	r.Header.Set("Accept", "application/json, text/event-stream") // which the SDK requires
	r.Header.Set("Content-Type", "application/json")
	h.plain.ServeHTTP(w, r)
}

// serveSession serves a request of a session that this process or an earlier one has begun.
func (h *Handler) serveSession(w http.ResponseWriter, r *http.Request, id string) {
	s := h.sessions
	switch {
	case s.isEnded(id):
		http.Error(w, "the client has ended this session; initialize another one", http.StatusNotFound)
		return
	case r.Method == http.MethodDelete:
		s.end(id)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	session, err := s.find(r.Context(), id, r.Header.Get(headerVersion))
	switch {
	case errors.Is(err, errNoSession):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case IsStream(r):
		s.release(session)
		session.ServeHTTP(w, r)
	default:
		defer s.release(session)
		session.ServeHTTP(w, r)
	}
}

// A message is what the Handler reads of a request.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// readMessage reads the body of a POST, which can be read again afterwards. Where the body is no
// JSON, readMessage answers the request and reports false.
func readMessage(w http.ResponseWriter, r *http.Request) (m message, ok bool) {
	if r.Method != http.MethodPost {
		return m, true
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		status := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "the request could not be read: "+err.Error(), status)
		return m, false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err := json.Unmarshal(body, &m); err != nil && !json.Valid(body) {
		status := http.StatusOK
		if r.Header.Get(headerVersion) >= statelessFrom {
			status = http.StatusBadRequest
		}
		writeError(w, status, nil, jsonrpc.CodeParseError, "the request is not JSON: "+err.Error())
		return m, false
	}
	return m, true
}

// writeError answers a request with a JSON-RPC error.
func writeError(w http.ResponseWriter, status int, id json.RawMessage, code int64, text string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(encode(map[string]any{"jsonrpc": "2.0", "id": id, "error": &jsonrpc.Error{Code: code, Message: text}}), '\n')) // nobody else to tell
}

// codeNoSession is the code of the other SDKs for a session that has ended.
const codeNoSession = -32001

// An answer makes JSON-RPC errors of the SDK's errors in plain text, and tells of the session that
// the request has begun.
type answer struct {
	http.ResponseWriter
	id    json.RawMessage // of the request; nil: it has none, or cannot be read
	plain int             // the status of an error whose text follows; 0: none
	begun func(id string) // called before the client can know the session; nil: none is begun
}

// tell calls begun once, if there is a session.
func (w *answer) tell() {
	if id := w.Header().Get(headerSession); id != "" && w.begun != nil {
		w.begun(id)
		w.begun = nil
	}
}

// WriteHeader holds the header of a plain error back, until its text is written.
func (w *answer) WriteHeader(status int) {
	w.tell()
	if status >= http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.plain = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *answer) Write(b []byte) (int, error) {
	w.tell()
	if w.plain == 0 {
		return w.ResponseWriter.Write(b)
	}
	code := int64(jsonrpc.CodeInvalidRequest)
	if w.plain == http.StatusNotFound {
		code = codeNoSession
	}
	writeError(w.ResponseWriter, w.plain, w.id, code, string(bytes.TrimSpace(b)))
	return len(b), nil
}

// Unwrap serves http.ResponseController.
func (w *answer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
