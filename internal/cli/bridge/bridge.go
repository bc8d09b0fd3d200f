// Package bridge lets a client of MCP reach the gateway over the standard input and output of a
// program. The bridge passes messages on as they are, and outlives the gateway: a request that
// is under way when the gateway ends has a response all the same.
package bridge

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tmaxmax/go-sse"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
)

const (
	// linger is how long requests may go on after the end of the input.
	linger = 5 * time.Second
	// maxMessage bounds a message in either direction, in bytes.
	maxMessage = 64 << 20
)

// A Bridge passes messages between one client and a gateway.
type Bridge struct {
	Gateway *client.Client
	Path    string // of the gateway's MCP server; empty: api.PathMCP
	// Revive starts the gateway if it is down, and returns once it serves. Nil: the Bridge waits
	// for somebody else to start it.
	Revive func(context.Context) error
	Out    io.Writer // for messages to the client, one a line

	reviving sync.Mutex // held during Revive
	requests sync.WaitGroup
	end      context.CancelCauseFunc

	mu      sync.Mutex          // guards Out and the fields below
	pending map[string]*request // by the id of a request under way
	session session
}

// A session is what the client has agreed with the gateway in its handshake. From 2026-07-28
// there are none.
type session struct {
	id, version string
	endStream   context.CancelFunc // of notifications
}

// Run passes the messages of in, one a line, until in or ctx ends, or Out fails. Requests that
// are under way when in ends have a few seconds more. A goroutine reads in as long as in is open.
func (b *Bridge) Run(ctx context.Context, in io.Reader) error {
	b.pending = map[string]*request{}
	b.Path = cmp.Or(b.Path, api.PathMCP)
	ctx, b.end = context.WithCancelCause(ctx)
	defer b.end(nil)
	lines, over := make(chan []byte), make(chan error, 1)
	go func() { // ends with in
		s := bufio.NewScanner(in)
		s.Buffer(nil, maxMessage)
		for s.Scan() {
			select {
			case lines <- bytes.Clone(s.Bytes()):
			case <-ctx.Done():
				return
			}
		}
		over <- s.Err()
		time.AfterFunc(linger, func() { b.end(nil) })
		close(lines)
	}()
	for {
		select {
		case line, open := <-lines:
			if open {
				b.take(ctx, line)
				continue
			}
			b.endStream()
			b.requests.Wait()
			if err := <-over; err != nil {
				return fmt.Errorf("read a message: %w", err)
			}
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// A message is what the Bridge reads of a message of the client.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Args      json.RawMessage `json:"arguments"`
		URI       string          `json:"uri"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`

	raw []byte
}

// take takes a line of the client. Messages that others depend on are passed in order, and
// requests beside each other.
func (b *Bridge) take(ctx context.Context, line []byte) {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return
	}
	var batch []json.RawMessage
	if json.Unmarshal(line, &batch) == nil {
		for _, one := range batch {
			b.take(ctx, one)
		}
		return
	}
	m := &message{raw: line}
	_ = json.Unmarshal(line, m) // the gateway says what is wrong with it
	if m.ID == nil || m.Method == "" || m.Method == "initialize" {
		b.deliver(ctx, m)
		if m.Method == "notifications/cancelled" {
			b.cancel(m.Params.RequestID)
		}
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &request{cancel: cancel}
	b.mu.Lock()
	b.pending[string(m.ID)] = r
	b.mu.Unlock()
	b.requests.Go(func() {
		defer b.forget(m.ID, r)
		b.deliver(ctx, m)
	})
}

// A request is one that the gateway has not answered yet.
type request struct{ cancel context.CancelFunc }

// forget ends a request that has its response. Another one may have its id by now.
func (b *Bridge) forget(id json.RawMessage, r *request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pending[string(id)] == r {
		delete(b.pending, string(id))
	}
	r.cancel()
}

// cancel ends a request whose response the client does not want any more.
func (b *Bridge) cancel(id json.RawMessage) {
	b.mu.Lock()
	r := b.pending[string(id)]
	b.mu.Unlock()
	if r != nil {
		r.cancel()
	}
}

// deliver passes a message on, and writes the response or why there is none.
func (b *Bridge) deliver(ctx context.Context, m *message) {
	err := b.persist(ctx, m)
	if err == nil || m.ID == nil || m.Method == "" || ctx.Err() != nil {
		return
	}
	response := map[string]any{"jsonrpc": "2.0", "id": m.ID}
	if errors.As(err, new(*unknownError)) { // a result, which models read
		text := map[string]string{"type": "text", "text": err.Error()}
		response["result"] = map[string]any{"content": []any{text}, "isError": true}
	} else {
		response["error"] = map[string]any{"code": -32603, "message": err.Error()}
	}
	b.write(encode(response))
}

// pass sends a message once and writes what the gateway answers. It reports whether the gateway
// has begun to answer.
func (b *Bridge) pass(ctx context.Context, m *message) (reached bool, err error) {
	res, err := b.Gateway.Pass(ctx, http.MethodPost, b.Path, b.header(m), m.raw)
	if errors.Is(err, client.ErrUnreachable) {
		return false, err
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w", client.ErrCut, err)
	}
	defer func() { _ = res.Body.Close() }()
	var answered, again bool
	answer := func(data []byte) {
		if mayBeSentAgain(data) {
			again = true
			return
		}
		answered = b.answer(ctx, m, res.Header, data) || answered
	}
	switch media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); { // empty where it is none
	case media == "text/event-stream":
		err = events(res.Body, answer)
	case res.StatusCode == http.StatusAccepted:
		return true, nil
	default:
		var body []byte
		if body, err = io.ReadAll(io.LimitReader(res.Body, maxMessage)); err == nil {
			body, err = response(m, res.Status, body)
		}
		if err == nil {
			answer(body)
		}
		if errors.Is(err, errRefused) || errors.As(err, new(*client.Error)) {
			return true, err
		}
	}
	switch {
	case answered:
		return true, nil
	case again:
		return true, errRefused
	}
	return true, errors.Join(client.ErrCut, err)
}

// header returns what the transport over HTTP says of a message besides the message.
func (b *Bridge) header(m *message) http.Header {
	h := http.Header{"Accept": {"application/json, text/event-stream"}}
	if v := m.Params.Meta.Version; v != "" {
		set(h, "Mcp-Protocol-Version", v)
		set(h, "Mcp-Method", m.Method)
		switch m.Method {
		case "tools/call", "prompts/get":
			set(h, "Mcp-Name", m.Params.Name)
		case "resources/read":
			set(h, "Mcp-Name", m.Params.URI)
		}
		return h
	}
	if m.Method != "initialize" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.session.addTo(h)
	}
	return h
}

// set sets a header, unless the client has said what no header may contain: the gateway refuses a
// message whose header is missing.
func set(h http.Header, name, value string) {
	if !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
		h.Set(name, value)
	}
}

func (s session) addTo(h http.Header) {
	if s.id != "" {
		set(h, "Mcp-Session-Id", s.id)
	}
	if s.version != "" {
		set(h, "Mcp-Protocol-Version", s.version)
	}
}

// events calls f with the data of each event of a stream.
func events(stream io.Reader, f func([]byte)) error {
	for e, err := range sse.Read(stream, &sse.ReadConfig{MaxEventSize: maxMessage}) {
		if err != nil {
			return err
		}
		if e.Data != "" {
			f([]byte(e.Data))
		}
	}
	return nil
}

// response makes a response to the message of an answer in JSON, which may be a refusal of the API.
func response(m *message, status string, body []byte) ([]byte, error) {
	var said struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
		Code    string          `json:"code"` // of the API
	}
	err := json.Unmarshal(body, &said)
	switch {
	case err == nil && said.Version != "" && string(said.ID) == "null" && m.ID != nil:
		return encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": said.Error}), nil
	case err == nil && said.Version != "":
		return body, nil
	case said.Code == api.ShuttingDown:
		return nil, errRefused
	}
	var text string
	if json.Unmarshal(said.Error, &text) != nil {
		text = "The gateway answered " + status + "."
	}
	return nil, &client.Error{Code: said.Code, Text: text}
}

// answer writes a message of the gateway, and reports whether it is the response to m. The
// response to a handshake begins a session.
func (b *Bridge) answer(ctx context.Context, m *message, h http.Header, data []byte) bool {
	var said struct {
		Method string `json:"method"`
		Result struct {
			Version string `json:"protocolVersion"`
		} `json:"result"`
	}
	_ = json.Unmarshal(data, &said) // a result of another form is a response too
	if m.Method == "initialize" && said.Result.Version != "" {
		b.begin(ctx, session{id: h.Get("Mcp-Session-Id"), version: said.Result.Version})
	}
	b.write(data)
	return said.Method == ""
}

// begin begins a session, with a stream for the gateway's notifications.
func (b *Bridge) begin(ctx context.Context, s session) {
	b.endStream()
	ctx, s.endStream = context.WithCancel(ctx)
	b.mu.Lock()
	b.session = s
	b.mu.Unlock()
	if s.id != "" {
		b.requests.Go(func() { b.follow(ctx, s) }) // ends with the session or the input
	}
}

func (b *Bridge) endStream() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.session.endStream != nil {
		b.session.endStream()
	}
}

// follow writes the notifications of a session. It waits for a gateway that is down: somebody may
// have ended it on purpose, and only a request is a reason to start it.
func (b *Bridge) follow(ctx context.Context, s session) {
	h := http.Header{"Accept": {"text/event-stream"}}
	s.addTo(h)
	pauses := client.NewBackoff()
	for {
		res, err := b.Gateway.Pass(ctx, http.MethodGet, b.Path, h, nil)
		if err == nil {
			if res.StatusCode == http.StatusOK {
				_ = events(res.Body, b.write) // however it ends, the next one follows
				pauses.Reset()
			}
			_ = res.Body.Close()
		}
		if pauses.Sleep(ctx) != nil {
			return
		}
	}
}

// write writes a message as one line. A client that cannot be written to has ended.
func (b *Bridge) write(data []byte) {
	var line bytes.Buffer
	if json.Compact(&line, data) != nil {
		return // what is no JSON would confuse the client
	}
	line.WriteByte('\n')
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.Out.Write(line.Bytes()); err != nil {
		b.end(fmt.Errorf("write a message: %w", err))
	}
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("bridge: a plain value does not encode: " + err.Error())
	}
	return b
}
