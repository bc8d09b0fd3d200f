package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"bareclaw/core"
)

const (
	turnA = core.TurnID("01890000-0000-7000-8000-00000000aaaa")
	turnB = core.TurnID("01890000-0000-7000-8000-00000000bbbb")
)

// TestMessageStream holds what a caller sees: only its own turn, in order, and
// the outcome last.
func TestMessageStream(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	resp, next := r.events(r.request("POST", "/message", `{"text":"a"}`, "Accept", "application/json, text/event-stream;q=0.9"))
	id := core.MessageID("01890000-0000-7000-8000-000000000001")
	other := core.MessageID("01890000-0000-7000-8000-000000000099")
	mine := []core.MessageID{other, id}
	own, foreign := core.Message{ID: id, Channel: "http", State: core.Waiting}, core.Message{ID: other, Channel: "http", State: core.Waiting}
	ended := foreign
	settle(&ended, core.Reply{State: core.Answered, Text: "not yours"})
	approval := core.Approval{ID: "a-1", Channel: "http", Message: other, Turn: turnA, Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`), CreatedAt: fakeStart, State: core.ApprovalPending}
	strange := approval
	strange.Turn = turnB
	r.publish("http",
		core.Update{Kind: core.UpdateAccepted, Message: &own},
		core.Update{Kind: core.UpdateAccepted, Message: &foreign},
		core.Update{Kind: core.UpdateQueued, Message: &foreign, Position: 1},
		core.Update{Kind: core.UpdateQueued, Message: &own, Position: 2},
		core.Update{Kind: core.UpdateQueued, Message: &own, Position: 2},
		core.Update{Kind: core.UpdateStarted, Turn: turnB, Messages: []core.MessageID{other}},
		core.Update{Kind: core.UpdateEvent, Turn: turnB, Messages: []core.MessageID{other}, Raw: json.RawMessage(`{"type":"foreign"}`)},
		core.Update{Kind: core.UpdateApproval, Turn: turnB, Approval: &strange},
		core.Update{Kind: core.UpdateBackground, Background: &core.Background{ID: "b"}},
		core.Update{Kind: core.UpdateStarted, Turn: turnA, Messages: mine},
		core.Update{Kind: core.UpdateEvent, Turn: turnA, Messages: mine, Raw: json.RawMessage("{\"type\":\"assistant\",\n \"n\":1.50}\n")},
		core.Update{Kind: core.UpdateApproval, Turn: turnA, Approval: &approval},
		core.Update{Kind: core.UpdateApprovalClosed, Approval: &approval},
		core.Update{Kind: core.UpdateRetrying, Turn: turnA, Messages: mine, Detail: "529 overloaded"},
		core.Update{Kind: core.UpdateDropped, Dropped: 3},
		core.Update{Kind: core.UpdateResult, Turn: turnA, Message: &ended, Messages: mine},
	)
	r.settle(id, core.Reply{State: core.Answered, Coalesced: true, Into: other, Duration: time.Second})
	want := []struct{ name, data, id string }{
		{"accepted", `{"message_id":"` + string(id) + `","channel":"http","state":"waiting","prompt":{"text":"a"},`, "fake-0"},
		{"queued", `{"message_id":"` + string(id) + `","position":2}`, "fake-4"},
		{"started", `{"turn_id":"` + string(turnA) + `","messages":["` + string(other) + `","` + string(id) + `"]}`, "fake-10"},
		{"event", `{"type":"assistant", "n":1.50}`, "fake-11"},
		{"approval", `"id":"a-1"`, "fake-12"},
		{"approval_closed", `"id":"a-1"`, "fake-13"},
		{"notice", `{"code":"retrying","text":"529 overloaded"}`, "fake-14"},
		{"notice", `3 events`, ""},
		{"result", `"text":"","is_error":false,"duration_ms":1000,"coalesced":true,"into":"` + string(other) + `"`, "fake-15"},
		{"", "", ""},
	}
	for i, w := range want {
		e := next()
		if e.name != w.name || !strings.Contains(e.data, w.data) {
			t.Fatalf("event %d = %+v, want %+v", i, e, w)
		}
		if e.id != w.id {
			t.Errorf("event %d has the id %q, want %q", i, e.id, w.id)
		}
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Length") != "" {
		t.Errorf("got %v", resp.Header)
	}
	eventually(t, "the subscription is closed", func() bool { return r.listeners("http") == 0 })
}

func TestStreamOfARepeatedKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	r.want(r.send("POST", "/message", `{"text":"a"}`, "Idempotency-Key", "k", "Prefer", "respond-async"), http.StatusAccepted, "")
	resp, next := r.events(r.request("POST", "/message", `{"text":"a"}`, "Idempotency-Key", "k", "Accept", "text/event-stream"))
	if resp.Header.Get("Idempotency-Replayed") != "true" {
		t.Error("it is not said to be a replay")
	}
	if a, q := next(), next(); a.name != "accepted" || q.name != "queued" || !strings.Contains(q.data, `"position":1`) {
		t.Errorf("got %v, %v", a, q)
	}
	r.settle("01890000-0000-7000-8000-000000000001", core.Reply{State: core.Answered, Text: "b"})
	if e := next(); e.name != "result" || !strings.Contains(e.data, `"text":"b"`) {
		t.Errorf("got %v", e)
	}
}

func TestRefusedStreamIsPlainJSON(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	r.fail(core.ErrQueueFull)
	r.want(r.send("POST", "/message", `{"text":"a"}`, "Accept", "text/event-stream"), http.StatusTooManyRequests, "queue_full")
	if n := r.listeners("http"); n != 0 {
		t.Errorf("%d subscriptions are left", n)
	}
}

// TestChannelStream watches a channel that does not exist yet, under a name that
// must be escaped.
func TestChannelStream(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	_, next := r.events(r.request("GET", "/channels/a%2Fb/events", "").WithContext(ctx))
	eventually(t, "it is subscribed", func() bool { return r.listeners("a/b") == 1 })
	m := core.Message{ID: "01890000-0000-7000-8000-000000000001", Channel: "a/b", State: core.Waiting, ReceivedAt: fakeStart}
	ended := m
	settle(&ended, core.Reply{State: core.Failed, IsError: true, Text: "x", Code: "agent_exit"})
	members := []core.MessageID{m.ID}
	r.publish("a/b",
		core.Update{Kind: core.UpdateAccepted, Message: &m},
		core.Update{Kind: core.UpdateQueued, Message: &m, Position: 1},
		core.Update{Kind: core.UpdateStarted, Turn: turnA, Messages: members},
		core.Update{Kind: core.UpdateSession, Detail: "a fresh session"},
		core.Update{Kind: core.UpdateEvent, Turn: turnA, Messages: members, Raw: json.RawMessage("{\"a\":\r\n1}")},
		core.Update{Kind: core.UpdateResult, Turn: turnA, Message: &ended, Messages: members},
		core.Update{Kind: core.UpdateBackground, Background: &core.Background{ID: "b-1", Text: "late", CreatedAt: fakeStart}},
	)
	for i, want := range []string{"accepted", "queued", "started", "notice", "event", "result", "background"} {
		if e := next(); e.name != want || e.id != fakeID(i+1).String() {
			t.Fatalf("event %d = %v, want %s", i, e, want)
		}
	}
	leave()
	eventually(t, "the subscription is closed", func() bool { return r.listeners("a/b") == 0 })
}

// TestClientLeaves holds that a client that disconnects changes nothing for its
// message.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	for i, accept := range []string{"application/json", "text/event-stream"} {
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			defer close(left)
			req := r.request("POST", "/message", `{"text":"a"}`, "Accept", accept).WithContext(ctx)
			if resp, err := (&http.Client{Transport: &http.Transport{}}).Do(req); err == nil {
				<-ctx.Done()
				resp.Body.Close()
			}
		}()
		eventually(t, "it is accepted", func() bool { return len(r.submissions()) == i+1 })
		leave()
		<-left
		id := r.submissions()[i].ID
		eventually(t, "the request is over", func() bool { return strings.Count(r.log.String(), "route=/message ") == i+1 })
		if m := r.submissions()[i]; m.State != core.Waiting {
			t.Errorf("%s: the message is %s", accept, m.State)
		}
		r.settle(id, core.Reply{State: core.Answered, Text: "kept"})
		if a := r.send("GET", "/messages/"+string(id), ""); a.field(t, "text") != "kept" {
			t.Errorf("got %s", a.body)
		}
	}
	if !strings.Contains(r.log.String(), "route=/message status=0") {
		t.Errorf("a client that left is not told apart:\n%s", r.log.String())
	}
}
