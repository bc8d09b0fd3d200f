package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestClientThatLeavesLosesNothing(t *testing.T) {
	t.Parallel()
	for name, accept := range map[string]string{"waiting": "*/*", "streaming": "text/event-stream"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			g := m.start()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.base+"/message", strings.NewReader(`{"text": "wait `+m.path("go")+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", accept)
			left := make(chan struct{})
			go func() {
				defer close(left)
				if resp, err := g.http.Do(req); err == nil {
					<-ctx.Done()
					_ = resp.Body.Close()
				}
			}()
			m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
			leave()
			<-left
			m.eventually("the gateway notices", func() bool {
				for sample := range g.metrics() {
					if strings.HasPrefix(sample, "bareclaw_http_request_duration_seconds_count") && strings.Contains(sample, `route="/message"`) {
						return true
					}
				}
				return false
			})
			m.touch("go")
			list := g.must("GET", "/channels/http/messages", nil, 200).array("messages")
			if len(list) != 1 {
				t.Fatalf("messages are %v", list)
			}
			g.outcome(list[0].str("message_id")).want(t, "waited for "+m.path("go"))
			g.balanced()
		})
	}
}

func TestAnswerLater(t *testing.T) {
	t.Parallel()
	g := newMachine(t).start()
	a, err := g.do("POST", "/message", obj{"text": "echo later"}, "Prefer", "wait=1, respond-async")
	if err != nil {
		t.Fatal(err)
	}
	where := a.header.Get("Location")
	if a.status != 202 || where != "/messages/"+a.str("message_id") || a.str("channel") != "http" || a.header.Get("Preference-Applied") != "respond-async" {
		t.Errorf("status %d: %s %v", a.status, a.body, a.header)
	}
	if s := a.str("state"); s != "waiting" && s != "running" {
		t.Errorf("state is %q", s)
	}
	g.must("GET", where+"?wait=1m", nil, 200).want(t, "later")
	g.balanced()
}

func TestStreamTellsInOrder(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	idle := g.stream("POST", "/message", obj{"text": "events 5"})
	idle.want("result").want(t, "events 5")
	if got, want := idle.order(), []string{"accepted", "started", "event", "result"}; !slices.Equal(got, want) {
		t.Errorf("an idle channel's stream is %v, want %v", got, want)
	}
	_, finish := g.occupy("http")
	s := g.stream("POST", "/message", obj{"text": "events 5"})
	id := s.want("accepted").str("message_id")
	if q := s.want("queued"); q.str("message_id") != id || q.number("position") != 1 {
		t.Errorf("queued: %s", q.body)
	}
	later := g.tell("http", "carrier")
	finish()
	started := s.want("started")
	if ids, _ := json.Marshal(started.json["messages"]); string(ids) != `["`+id+`","`+later+`"]` {
		t.Errorf("started: %s", started.body)
	}
	result := s.want("result")
	if !result.flag("coalesced") || result.str("into") != later || result.str("text") != "" || result.str("message_id") != id {
		t.Errorf("result: %s", result.body)
	}
	if got, want := s.order(), []string{"accepted", "queued", "started", "event", "result"}; !slices.Equal(got, want) {
		t.Errorf("stream is %v, want %v", got, want)
	}
	deltas := 0
	rising(t, s.seen)
	for _, e := range s.seen {
		if e.data.str("type") == "stream_event" && strings.Contains(string(e.data.body), "text_delta") {
			deltas++
		}
		if strings.Contains(string(e.data.body), "waited for") {
			t.Errorf("event of another turn: %s", e.data.body)
		}
	}
	if deltas < 5 {
		t.Errorf("%d deltas in the stream, want at least 5", deltas)
	}
	g.balanced()
}

// rising fails unless all events but the last, which the stream makes itself, have
// ids of one feed whose numbers rise.
func rising(t *testing.T, events []event) {
	t.Helper()
	feed, last := "", -1
	for i, e := range events {
		if e.id == "" && i == len(events)-1 {
			break
		}
		name, number, _ := strings.Cut(e.id, "-")
		n, err := strconv.Atoi(number)
		if err != nil || n <= last || i > 0 && name != feed {
			t.Errorf("event %d (%s) has the id %q after %s-%d", i+1, e.kind, e.id, feed, last)
		}
		feed, last = name, n
	}
}

func TestChannelStreamShowsEverything(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	s := g.stream("GET", "/channels/http/events", nil)
	elsewhere := g.stream("GET", "/channels/other/events", nil)
	first, finish := g.occupy("http")
	if a := s.want("accepted"); a.str("message_id") != first || a.str("channel") != "http" {
		t.Errorf("accepted: %s", a.body)
	}
	s.want("started")
	second := g.tell("http", "echo second")
	if a := s.want("queued"); a.str("message_id") != second || a.number("position") != 1 {
		t.Errorf("queued: %s", a.body)
	}
	finish()
	if a := s.want("result"); a.str("message_id") != first {
		t.Errorf("first result: %s", a.body)
	}
	if a := s.want("result"); a.str("message_id") != second || a.str("text") != "second" {
		t.Errorf("second result: %s", a.body)
	}
	g.balanced()
	g.signal(syscall.SIGTERM)
	s.want("shutdown")
	if got := elsewhere.order(); !slices.Equal(got, []string{"shutdown"}) {
		t.Errorf("another channel's stream is %v", got)
	}
}

func TestBackgroundResultAnswersNobody(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	s := g.stream("GET", "/channels/http/events", nil)
	a := g.say("http", "background 100 the report")
	if text := a.str("text"); !strings.HasPrefix(text, "final: Command running in background") {
		t.Errorf("answer is %s", a.body)
	}
	other := g.say("http", "echo meanwhile")
	other.want(t, "meanwhile")
	pushed := s.want("background")
	if pushed.str("text") != "the report" || pushed.flag("is_error") || pushed.str("id") == "" {
		t.Errorf("background event is %s", pushed.body)
	}
	m.eventually("it is listed", func() bool {
		list := g.must("GET", "/channels/http/messages", nil, 200).array("background")
		return len(list) == 1 && list[0].str("text") == "the report" && list[0].str("id") == pushed.str("id")
	})
	for _, id := range []string{a.str("message_id"), other.str("message_id")} {
		if now := g.outcome(id); strings.Contains(now.str("text"), "the report") {
			t.Errorf("the background result answers %s", now.body)
		}
	}
	g.say("http", "echo after").want(t, "after")
	if n := g.balanced(); n != 3 {
		t.Errorf("%d messages accepted, want 3", n)
	}
}
