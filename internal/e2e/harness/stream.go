package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
)

// A Held request is answered later.
type Held struct {
	t    testing.TB
	Done chan struct{} // closed when the answer is there
	A    Answer
	Err  error
}

// Hold sends a message and leaves the request waiting for its outcome.
func (g *Gateway) Hold(body Obj, header ...string) *Held {
	g.T.Helper()
	return g.held(func() (Answer, error) { return g.Do("POST", "/message", body, header...) })
}

func (g *Gateway) held(request func() (Answer, error)) *Held {
	h := &Held{t: g.T, Done: make(chan struct{})}
	go func() { // ends with the request, at the latest with the daemon
		defer close(h.Done)
		h.A, h.Err = request()
	}()
	return h
}

// Answered reports whether the request is answered.
func (h *Held) Answered() bool { return Closed(h.Done) }

// Answer waits for it.
func (h *Held) Answer(statuses ...int) Answer {
	h.t.Helper()
	await(h.t, h.Done, func() string { return "the held request is answered" })
	if h.Err != nil {
		h.t.Fatalf("held request: %v", h.Err)
	}
	if len(statuses) > 0 && !slices.Contains(statuses, h.A.Status) {
		h.t.Fatalf("held request: status %d, want %v: %s", h.A.Status, statuses, h.A.Body)
	}
	return h.A
}

// Channel returns the state of a channel.
func (g *Gateway) Channel(key string) Answer {
	g.T.Helper()
	return g.Must("GET", "/channels/"+Escaped(key), nil, 200)
}

// Queued waits until n messages of the channel wait for their turn.
func (g *Gateway) Queued(key string, n int) {
	g.T.Helper()
	g.Eventually("messages wait", func() bool { return g.Channel(key).Number("waiting") == float64(n) })
}

// Occupy begins a turn that goes on until the returned function is called, and
// returns its message too.
func (g *Gateway) Occupy(key string) (id string, finish func()) {
	g.T.Helper()
	f, err := os.CreateTemp(g.Dir, "go")
	check.OK(g.T, err)
	_ = f.Close()
	name := filepath.Base(f.Name())
	check.OK(g.T, os.Remove(f.Name()))
	id = g.Tell(key, "wait "+g.Path(name))
	g.Eventually("turn runs", func() bool { return g.Begun(name) == 1 })
	return id, func() { g.Touch(name) }
}

// Task begins a turn that goes on until finish is called. finish fails unless the gateway then
// answers the turn's message, which began one turn only, and no message is left without outcome.
func (g *Gateway) Task(key string) (finish func(g *Gateway)) {
	g.T.Helper()
	id, end := g.Occupy(key)
	return func(g *Gateway) {
		g.T.Helper()
		end()
		if a := g.Outcome(id); a.Flag("is_error") || !strings.HasPrefix(a.Str("text"), "waited for ") {
			g.T.Errorf("the turn ends with %s", a.Body)
		}
		if n := g.BegunOn(key, "wait "); n != 1 {
			g.T.Errorf("%d turns begun, want 1", n)
		}
		g.Balanced()
	}
}

// SameClaude returns a function that fails unless a channel has the same claude as now.
func (g *Gateway) SameClaude(key string) (check func(g *Gateway)) {
	g.T.Helper()
	claude := g.Say(key, "pid").Str("text")
	return func(g *Gateway) {
		g.T.Helper()
		if now := g.Say(key, "pid").Str("text"); now != claude {
			g.T.Errorf("claude was %s and is %s", claude, now)
		}
	}
}

// Did reports whether a claude noted the event with a text that contains s.
func (m *Machine) Did(event, s string) bool {
	m.T.Helper()
	return slices.ContainsFunc(m.Journal(), func(l JournalLine) bool {
		return l.Event == event && strings.Contains(l.Text, s)
	})
}

// An Event is one server-sent event.
type Event struct {
	ID, Kind string
	Last     string // the last id so far: what a client resumes with
	Data     Answer
}

// A Stream is a response that goes on.
type Stream struct {
	T      testing.TB
	answer Answer // but for its body
	Events chan Event
	Seen   []Event // all events that Next has read
	Close  func()
}

// Stream sends a request and reads the events of its response.
func (g *Gateway) Stream(method, path string, body any, header ...string) *Stream {
	g.T.Helper()
	ctx, cancel := context.WithTimeout(g.T.Context(), HeldPatience)
	var text io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		check.OK(g.T, err)
		text = bytes.NewReader(b)
	}
	req, err := g.request(ctx, method, path, text, append([]string{"Accept", "text/event-stream"}, header...))
	check.OK(g.T, err)
	resp, err := g.HTTP.Do(req) //nolint:bodyclose // s.Close does
	if err != nil {
		g.T.Fatalf("%s %s: %v", method, path, err)
	}
	s := &Stream{T: g.T, answer: Answer{Status: resp.StatusCode, Header: resp.Header}, Events: make(chan Event, 1<<14)}
	s.Close = func() { cancel(); _ = resp.Body.Close() }
	g.T.Cleanup(s.Close)
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || ct != "text/event-stream" {
		g.T.Fatalf("%s %s: status %d, content type %s", method, path, resp.StatusCode, ct)
	}
	go func() { // ends with the response
		defer close(s.Events)
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 64<<20)
		last := ""
		for e := (Event{}); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.ID, last = value, value
			case "event":
				e.Kind = value
			case "data":
				e.Data.Body = append(e.Data.Body, value...)
			case "":
				if e.Kind != "" {
					_ = json.Unmarshal(e.Data.Body, &e.Data.JSON) // all events have objects; tests look at members
					e.Last = last
					s.Events <- e
				}
				e = Event{}
			}
		}
	}()
	return s
}

// Next returns the next event of one of the kinds; false at the stream's end.
func (s *Stream) Next(kinds ...string) (Event, bool) {
	s.T.Helper()
	late := time.After(Patience)
	for {
		select {
		case e, ok := <-s.Events:
			if !ok {
				return Event{}, false
			}
			s.Seen = append(s.Seen, e)
			checkOutcomes(s.T, "event "+e.Kind, e.Data.JSON)
			if slices.Contains(kinds, e.Kind) {
				return e, true
			}
		case <-late:
			s.T.Fatalf("stream has no event %v", kinds)
		}
	}
}

// Want is Next for an event that has to come.
func (s *Stream) Want(kinds ...string) Answer {
	s.T.Helper()
	e, ok := s.Next(kinds...)
	if !ok {
		s.T.Fatalf("stream ended without an event %v", kinds)
	}
	return e.Data
}

// OverSocket is the same gateway, talked to over its Unix socket.
func (g *Gateway) OverSocket() *Gateway {
	local := *g
	local.Base, local.HTTP = "http://localhost", g.Local()
	return &local
}
