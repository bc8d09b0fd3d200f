package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// obj is a JSON object, as a request's body.
type obj = map[string]any

// code is an answer's stable word for what went wrong.
func (a answer) code() string { return a.str("code") }

// array returns a member that is an array of objects.
func (a answer) array(key string) []answer {
	list, _ := a.json[key].([]any)
	all := make([]answer, len(list))
	for i, v := range list {
		all[i].json, _ = v.(map[string]any)
		all[i].body, _ = json.Marshal(v) // for messages
	}
	return all
}

// number is a member that is a number; 0 when it is missing.
func (a answer) number(key string) float64 { n, _ := a.json[key].(float64); return n }

// refused fails unless the answer is an error of the API with this status and
// code and a text for a person.
func (a answer) refused(t testing.TB, what string, status int, code string) {
	t.Helper()
	if a.status != status || a.code() != code || a.str("error") == "" || len(a.json) < 2 {
		t.Errorf("%s: status %d, want %d %s with a text: %.500s", what, a.status, status, code, a.body)
	}
	if ct := a.header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("%s: content type %q", what, ct)
	}
}

// A held request is answered later.
type held struct {
	t    testing.TB
	done chan struct{} // closed when the answer is there
	a    answer
	err  error
}

// hold sends a message and leaves the request waiting for its outcome.
func (g *gateway) hold(body obj, header ...string) *held {
	g.t.Helper()
	h := &held{t: g.t, done: make(chan struct{})}
	go func() { // ends with the request, at the latest with the daemon
		defer close(h.done)
		h.a, h.err = g.do("POST", "/message", body, header...)
	}()
	return h
}

func (h *held) answered() bool {
	select {
	case <-h.done:
		return true
	default:
		return false
	}
}

// answer waits for it.
func (h *held) answer(statuses ...int) answer {
	h.t.Helper()
	select {
	case <-h.done:
	case <-time.After(patience):
		h.t.Fatal("held request is not answered")
	}
	if h.err != nil {
		h.t.Fatalf("held request: %v", h.err)
	}
	if len(statuses) > 0 && !slices.Contains(statuses, h.a.status) {
		h.t.Fatalf("held request: status %d, want %v: %s", h.a.status, statuses, h.a.body)
	}
	return h.a
}

// channel returns the state of a channel.
func (g *gateway) channel(key string) answer {
	g.t.Helper()
	return g.must("GET", "/channels/"+escaped(key), nil, 200)
}

// queued waits until n messages of the channel wait for their turn.
func (g *gateway) queued(key string, n int) {
	g.t.Helper()
	g.eventually("messages wait", func() bool { return g.channel(key).number("waiting") == float64(n) })
}

// occupy begins a turn that goes on until the returned function is called, and
// returns its message too.
func (g *gateway) occupy(key string) (id string, finish func()) {
	g.t.Helper()
	f, err := os.CreateTemp(g.dir, "go")
	if err != nil {
		g.t.Fatal(err)
	}
	_ = f.Close()
	name := filepath.Base(f.Name())
	if err := os.Remove(f.Name()); err != nil {
		g.t.Fatal(err)
	}
	id = g.tell(key, "wait "+g.path(name))
	g.eventually("turn runs", func() bool { return g.begun(name) == 1 })
	return id, func() { g.touch(name) }
}

// did reports whether a claude noted the event with a text that contains s.
func (m *machine) did(event, s string) bool {
	m.t.Helper()
	return slices.ContainsFunc(m.journal(), func(l journalLine) bool {
		return l.Event == event && strings.Contains(l.Text, s)
	})
}

// An event is one server-sent event.
type event struct {
	id, kind string
	last     string // the last id so far: what a client resumes with
	data     answer
}

// A stream is a response that goes on.
type stream struct {
	t      testing.TB
	answer answer // but for its body
	events chan event
	seen   []event // what next has returned
	close  func()
}

// stream sends a request and reads the events of its response.
func (g *gateway) stream(method, path string, body any, header ...string) *stream {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), heldPatience)
	var text string
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			g.t.Fatal(err)
		}
		text = string(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, g.base+path, strings.NewReader(text))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := g.http.Do(req)
	if err != nil {
		g.t.Fatalf("%s %s: %v", method, path, err)
	}
	s := &stream{t: g.t, answer: answer{status: resp.StatusCode, header: resp.Header}, events: make(chan event, 1<<14)}
	s.close = func() { cancel(); _ = resp.Body.Close() }
	g.t.Cleanup(s.close)
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || ct != "text/event-stream" {
		g.t.Fatalf("%s %s: status %d, content type %s", method, path, resp.StatusCode, ct)
	}
	go func() { // ends with the response
		defer close(s.events)
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 64<<20)
		last := ""
		for e := (event{}); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.id, last = value, value
			case "event":
				e.kind = value
			case "data":
				e.data.body = append(e.data.body, value...)
			case "":
				if e.kind != "" {
					_ = json.Unmarshal(e.data.body, &e.data.json) // all events have objects; tests look at members
					e.last = last
					s.events <- e
				}
				e = event{}
			}
		}
	}()
	return s
}

// next returns the next event of one of the kinds; false at the stream's end.
func (s *stream) next(kinds ...string) (event, bool) {
	s.t.Helper()
	late := time.After(patience)
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				return event{}, false
			}
			s.seen = append(s.seen, e)
			checkOutcomes(s.t, "event "+e.kind, e.data.json)
			if slices.Contains(kinds, e.kind) {
				return e, true
			}
		case <-late:
			s.t.Fatalf("stream has no event %v", kinds)
		}
	}
}

// want is next for an event that has to come.
func (s *stream) want(kinds ...string) answer {
	s.t.Helper()
	e, ok := s.next(kinds...)
	if !ok {
		s.t.Fatalf("stream ended without an event %v", kinds)
	}
	return e.data
}

// order waits for the stream's end and returns the kinds of all its events, each
// once where several of a kind follow each other.
func (s *stream) order() []string {
	s.t.Helper()
	s.next() // until the end
	var kinds []string
	for _, e := range s.seen {
		kinds = append(kinds, e.kind)
	}
	return slices.Compact(kinds)
}

// overSocket is the same gateway, talked to over its Unix socket.
func (g *gateway) overSocket() *gateway {
	local := *g
	local.base, local.http = "http://localhost", g.local()
	return &local
}
