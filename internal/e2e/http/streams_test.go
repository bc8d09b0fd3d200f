package http

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestClientThatLeavesLosesNothing(t *testing.T) {
	t.Parallel()
	for name, accept := range map[string]string{"waiting": "*/*", "streaming": "text/event-stream"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			g := m.Start()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.Base+"/message", strings.NewReader(`{"text": "wait `+m.Path("go")+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", accept)
			left := make(chan struct{})
			go func() {
				defer close(left)
				if resp, err := g.HTTP.Do(req); err == nil {
					<-ctx.Done()
					_ = resp.Body.Close()
				}
			}()
			m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
			leave()
			<-left
			m.Eventually("the gateway notices", func() bool {
				for sample := range g.Metrics() {
					if strings.HasPrefix(sample, "bareclaw_http_request_duration_seconds_count") && strings.Contains(sample, `route="/message"`) {
						return true
					}
				}
				return false
			})
			m.Touch("go")
			list := g.Must("GET", "/channels/http/messages", nil, 200).Array("messages")
			if len(list) != 1 {
				t.Fatalf("messages are %v", list)
			}
			g.Outcome(list[0].Str("message_id")).Want(t, "waited for "+m.Path("go"))
			g.Balanced()
		})
	}
}

func TestAnswerLater(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t).Start()
	a, err := g.Do("POST", "/message", harness.Obj{"text": "echo later"}, "Prefer", "wait=1, respond-async")
	if err != nil {
		t.Fatal(err)
	}
	where := a.Header.Get("Location")
	if a.Status != 202 || where != "/messages/"+a.Str("message_id") || a.Str("channel") != "http" || a.Header.Get("Preference-Applied") != "respond-async" {
		t.Errorf("status %d: %s %v", a.Status, a.Body, a.Header)
	}
	if s := a.Str("state"); s != "waiting" && s != "running" {
		t.Errorf("state is %q", s)
	}
	g.Must("GET", where+"?wait=1m", nil, 200).Want(t, "later")
	g.Balanced()
}

func TestStreamTellsInOrder(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	idle := g.Stream("POST", "/message", harness.Obj{"text": "events 5"})
	idle.Want("result").Want(t, "events 5")
	if got, want := idle.Order(), []string{"accepted", "started", "event", "result"}; !slices.Equal(got, want) {
		t.Errorf("an idle channel's stream is %v, want %v", got, want)
	}
	_, finish := g.Occupy("http")
	s := g.Stream("POST", "/message", harness.Obj{"text": "events 5"})
	id := s.Want("accepted").Str("message_id")
	if q := s.Want("queued"); q.Str("message_id") != id || q.Number("position") != 1 {
		t.Errorf("queued: %s", q.Body)
	}
	later := g.Tell("http", "carrier")
	finish()
	started := s.Want("started")
	if ids, _ := json.Marshal(started.JSON["messages"]); string(ids) != `["`+id+`","`+later+`"]` {
		t.Errorf("started: %s", started.Body)
	}
	result := s.Want("result")
	if !result.Flag("coalesced") || result.Str("into") != later || result.Str("text") != "" || result.Str("message_id") != id {
		t.Errorf("result: %s", result.Body)
	}
	if got, want := s.Order(), []string{"accepted", "queued", "started", "event", "result"}; !slices.Equal(got, want) {
		t.Errorf("stream is %v, want %v", got, want)
	}
	deltas := 0
	rising(t, s.Seen)
	for _, e := range s.Seen {
		if e.Data.Str("type") == "stream_event" && strings.Contains(string(e.Data.Body), "text_delta") {
			deltas++
		}
		if strings.Contains(string(e.Data.Body), "waited for") {
			t.Errorf("event of another turn: %s", e.Data.Body)
		}
	}
	if deltas < 5 {
		t.Errorf("%d deltas in the stream, want at least 5", deltas)
	}
	g.Balanced()
}

// rising fails unless all events but the last, which the stream makes itself, have
// ids of one feed whose numbers rise.
func rising(t *testing.T, events []harness.Event) {
	t.Helper()
	feed, last := "", -1
	for i, e := range events {
		if e.ID == "" && i == len(events)-1 {
			break
		}
		name, number, _ := strings.Cut(e.ID, "-")
		n, err := strconv.Atoi(number)
		if err != nil || n <= last || i > 0 && name != feed {
			t.Errorf("event %d (%s) has the id %q after %s-%d", i+1, e.Kind, e.ID, feed, last)
		}
		feed, last = name, n
	}
}

func TestChannelStreamShowsEverything(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	s := g.Stream("GET", "/channels/http/events", nil)
	elsewhere := g.Stream("GET", "/channels/other/events", nil)
	first, finish := g.Occupy("http")
	if a := s.Want("accepted"); a.Str("message_id") != first || a.Str("channel") != "http" {
		t.Errorf("accepted: %s", a.Body)
	}
	s.Want("started")
	second := g.Tell("http", "echo second")
	if a := s.Want("queued"); a.Str("message_id") != second || a.Number("position") != 1 {
		t.Errorf("queued: %s", a.Body)
	}
	finish()
	if a := s.Want("result"); a.Str("message_id") != first {
		t.Errorf("first result: %s", a.Body)
	}
	if a := s.Want("result"); a.Str("message_id") != second || a.Str("text") != "second" {
		t.Errorf("second result: %s", a.Body)
	}
	g.Balanced()
	g.Signal(syscall.SIGTERM)
	s.Want("shutdown")
	if got := elsewhere.Order(); !slices.Equal(got, []string{"shutdown"}) {
		t.Errorf("another channel's stream is %v", got)
	}
}

func TestBackgroundResultAnswersNobody(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	s := g.Stream("GET", "/channels/http/events", nil)
	a := g.Say("http", "background 100 the report")
	if text := a.Str("text"); !strings.HasPrefix(text, "final: Command running in background") {
		t.Errorf("answer is %s", a.Body)
	}
	other := g.Say("http", "echo meanwhile")
	other.Want(t, "meanwhile")
	pushed := s.Want("background")
	if pushed.Str("text") != "the report" || pushed.Flag("is_error") || pushed.Str("id") == "" {
		t.Errorf("background event is %s", pushed.Body)
	}
	m.Eventually("it is listed", func() bool {
		list := g.Must("GET", "/channels/http/messages", nil, 200).Array("background")
		return len(list) == 1 && list[0].Str("text") == "the report" && list[0].Str("id") == pushed.Str("id")
	})
	for _, id := range []string{a.Str("message_id"), other.Str("message_id")} {
		if now := g.Outcome(id); strings.Contains(now.Str("text"), "the report") {
			t.Errorf("the background result answers %s", now.Body)
		}
	}
	g.Say("http", "echo after").Want(t, "after")
	if n := g.Balanced(); n != 3 {
		t.Errorf("%d messages accepted, want 3", n)
	}
}
