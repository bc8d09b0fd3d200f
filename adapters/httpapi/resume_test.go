package httpapi

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"bareclaw/core"
)

const (
	messageA = core.MessageID("01890000-0000-7000-8000-000000000001")
	eventsA  = "/messages/" + string(messageA) + "/events"
)

// said is an update with a line of turn A.
func said(text string, messages ...core.MessageID) core.Update {
	return core.Update{Kind: core.UpdateEvent, Turn: turnA, Messages: messages, Raw: []byte(`{"say":"` + text + `"}`)}
}

// wantEvents fails unless the next events are these: the id, the name and a part
// of the data of each.
func wantEvents(t *testing.T, next func() event, want ...[3]string) {
	t.Helper()
	for i, w := range want {
		if e := next(); e.id != w[0] || e.name != w[1] || !strings.Contains(e.data, w[2]) {
			t.Fatalf("event %d is %+v, want %q", i, e, w)
		}
	}
}

// TestStreamsBeginWithAPlace holds that a client can resume before it was told
// anything, and is told how soon.
func TestStreamsBeginWithAPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	r.accept("http")
	r.publish("http", said("a"), said("b"))
	for _, path := range []string{"/channels/http/events", eventsA} {
		resp, err := r.client.Do(r.request("GET", path, ""))
		if err != nil {
			t.Fatal(err)
		}
		const want = "retry: 1000\nid: fake-2\n: connected\n\n"
		b := make([]byte, len(want))
		if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != want {
			t.Errorf("%s begins with %q (%v)", path, b, err)
		}
		resp.Body.Close()
	}
}

// TestStreamsResume opens each kind of stream after an update.
func TestStreamsResume(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	r.want(r.send("POST", "/message", `{"text":"a"}`, "Idempotency-Key", "k", "Prefer", "respond-async"), http.StatusAccepted, "")
	r.publish("http", said("seen", messageA), said("foreign"), said("missed", messageA))
	_, channel := r.events(r.request("GET", "/channels/http/events", "", "Last-Event-ID", "fake-1"))
	_, message := r.events(r.request("GET", eventsA, "", "Last-Event-ID", "fake-1"))
	_, again := r.events(r.request("POST", "/message", `{"text":"a"}`, "Idempotency-Key", "k", "Accept", "text/event-stream", "Last-Event-ID", "fake-1"))
	eventually(t, "all are subscribed", func() bool { return r.listeners("http") == 3 })
	r.publish("http", said("new", messageA))
	r.settle(messageA, core.Reply{State: core.Answered, Text: "done"})
	wantEvents(t, channel, [3]string{"fake-2", "event", "foreign"}, [3]string{"fake-3", "event", "missed"}, [3]string{"fake-4", "event", "new"})
	own := [][3]string{{"fake-3", "event", "missed"}, {"fake-4", "event", "new"}, {"", "result", "done"}, {}}
	wantEvents(t, message, own...)
	wantEvents(t, again, append([][3]string{{"fake-1", "accepted", string(messageA)}}, own...)...)
}

// TestEventsOfAMessage opens its stream anew: it begins with where the message
// is, or ends with the outcome at once.
func TestEventsOfAMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	r.accept("http")
	r.publish("http", said("before", messageA))
	_, next := r.events(r.request("GET", eventsA, ""))
	wantEvents(t, next, [3]string{"fake-1", "queued", `"position":1`})
	r.settle(messageA, core.Reply{State: core.Answered, Text: "done"})
	wantEvents(t, next, [3]string{"", "result", "done"}, [3]string{})
	_, next = r.events(r.request("GET", eventsA, ""))
	wantEvents(t, next, [3]string{"fake-1", "result", "done"}, [3]string{})
	r.want(r.send("GET", "/messages/none/events", ""), http.StatusNotFound, "not_found")
	eventually(t, "the subscriptions are closed", func() bool { return r.listeners("http") == 0 })
}

// TestGap resumes after what nobody knows: that is said first, and nothing of the
// id is said again.
func TestGap(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	r.accept("a/b")
	for _, id := range []string{"fake-77", "none", "<script>", strings.Repeat("x", 9999), "\"\\\t\x80"} {
		_, channel := r.events(r.request("GET", "/channels/a%2Fb/events", "", "Last-Event-ID", id))
		_, message := r.events(r.request("GET", eventsA, "", "Last-Event-ID", id))
		gap := [3]string{"fake-0", "notice", `{"code":"gap","text":"Some events may be missing here`}
		wantEvents(t, message, gap, [3]string{"", "queued"})
		e := channel()
		if e.name != gap[1] || e.id != gap[0] || !strings.Contains(e.data, "GET /channels/a%2Fb/messages") || strings.Contains(e.data, id) {
			t.Errorf("%q: %+v", id, e)
		}
	}
}

// TestRestartingSaysWhereEventsGoOn holds the last event of streams, which a
// client resumes from.
func TestRestartingSaysWhereEventsGoOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	r.accept("a/b")
	_, channel := r.events(r.request("GET", "/channels/a%2Fb/events", ""))
	_, message := r.events(r.request("GET", eventsA, ""))
	wantEvents(t, message, [3]string{"fake-0", "queued"})
	eventually(t, "both are subscribed", func() bool { return r.listeners("a/b") == 2 })
	r.publish("a/b", said("foreign"))
	wantEvents(t, channel, [3]string{"fake-1", "event"})
	r.server.Drain(Restarting)
	wantEvents(t, channel, [3]string{"", "restarting", `"events":"/channels/a%2Fb/events"`})
	wantEvents(t, message, [3]string{"fake-1", "restarting", `"location":"/messages/` + string(messageA) + `","events":"` + eventsA + `"`})
}
