package httpapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/feed"
	"bareclaw/core/lanes"
	"bareclaw/internal/testkit/check"
)

// said is an update with a line of turn A.
func said(text string, messages ...core.MessageID) core.Update {
	return core.Update{Kind: core.UpdateEvent, Turn: "turn-a", Messages: messages, Raw: []byte(`{"say":"` + text + `"}`)}
}

// wantEvents fails unless the next events are these: the end of the id, the name and a part
// of the data of each.
func wantEvents(t *testing.T, next func() event, want ...[3]string) {
	t.Helper()
	for i, w := range want {
		if e := next(); !strings.HasSuffix(e.id, w[0]) || (e.id == "") != (w[0] == "") || e.name != w[1] || !strings.Contains(e.data, w[2]) {
			t.Fatalf("event %d is %+v, want %q", i, e, w)
		}
	}
}

// written sends updates through the stream of a message, or with an empty id of a channel, and
// returns the events.
func written(t *testing.T, id core.MessageID, updates ...core.Update) (next func() event) {
	t.Helper()
	var broker feed.Broker
	sub := broker.Subscribe("http")
	defer sub.Close()
	for _, u := range updates {
		broker.Publish("http", u)
	}
	w := httptest.NewRecorder()
	st := newStream(&response{ResponseWriter: w}, "http", sub, false)
	st.message = id
	st.sendAll()
	if st.flush(); st.err != nil {
		t.Fatal(st.err)
	}
	return eventScanner(w.Body)
}

// TestMessageStream holds what a caller sees: only its own turn, in order.
func TestMessageStream(t *testing.T) {
	t.Parallel()
	id, other := core.MessageID("m-1"), core.MessageID("m-99")
	mine := []core.MessageID{other, id}
	own, foreign := core.Message{ID: id, Channel: "http", State: core.Waiting}, core.Message{ID: other, Channel: "http", State: core.Waiting}
	ended := foreign
	ended.State, ended.Reply = core.Answered, core.Reply{State: core.Answered, Text: "not yours"}
	approval := core.Approval{ID: "a-1", Channel: "http", Message: other, Turn: "turn-a", Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`), State: core.ApprovalPending}
	strange := approval
	strange.Turn = "turn-b"
	next := written(t, id,
		core.Update{Kind: core.UpdateAccepted, Message: &own},
		core.Update{Kind: core.UpdateAccepted, Message: &foreign},
		core.Update{Kind: core.UpdateQueued, Message: &foreign, Position: 1},
		core.Update{Kind: core.UpdateQueued, Message: &own, Position: 2},
		core.Update{Kind: core.UpdateQueued, Message: &own, Position: 2},
		core.Update{Kind: core.UpdateStarted, Turn: "turn-b", Messages: []core.MessageID{other}},
		core.Update{Kind: core.UpdateEvent, Turn: "turn-b", Messages: []core.MessageID{other}, Raw: json.RawMessage(`{"type":"foreign"}`)},
		core.Update{Kind: core.UpdateApproval, Turn: "turn-b", Approval: &strange},
		core.Update{Kind: core.UpdateBackground, Background: &core.Background{ID: "b"}},
		core.Update{Kind: core.UpdateStarted, Turn: "turn-a", Messages: mine},
		core.Update{Kind: core.UpdateEvent, Turn: "turn-a", Messages: mine, Raw: json.RawMessage("{\"type\":\"assistant\",\n \"n\":1.50}\n")},
		core.Update{Kind: core.UpdateApproval, Turn: "turn-a", Approval: &approval},
		core.Update{Kind: core.UpdateApprovalClosed, Approval: &approval},
		core.Update{Kind: core.UpdateRetrying, Turn: "turn-a", Messages: mine, Detail: "529 overloaded"},
		core.Update{Kind: core.UpdateResult, Turn: "turn-a", Message: &ended, Messages: mine},
	)
	wantEvents(t, next,
		[3]string{"-4", "queued", `{"message_id":"m-1","position":2}`},
		[3]string{"-10", "started", `{"turn_id":"turn-a","messages":["m-99","m-1"]}`},
		[3]string{"-11", "event", `{"type":"assistant", "n":1.50}`},
		[3]string{"-12", "approval", `"id":"a-1"`},
		[3]string{"-13", "approval_closed", `"id":"a-1"`},
		[3]string{"-14", "notice", `{"code":"retrying","text":"529 overloaded"}`},
		[3]string{},
	)
}

// TestChannelStream holds the events of all kinds of updates.
func TestChannelStream(t *testing.T) {
	t.Parallel()
	m := core.Message{ID: "m-1", Channel: "a/b", State: core.Waiting}
	ended := m
	ended.State, ended.Reply = core.Failed, core.Reply{State: core.Failed, IsError: true, Text: "x", Code: "agent_exit"}
	members := []core.MessageID{m.ID}
	next := written(t, "",
		core.Update{Kind: core.UpdateAccepted, Message: &m},
		core.Update{Kind: core.UpdateQueued, Message: &m, Position: 1},
		core.Update{Kind: core.UpdateStarted, Turn: "turn-a", Messages: members},
		core.Update{Kind: core.UpdateSession, Detail: "a fresh session"},
		core.Update{Kind: core.UpdateEvent, Turn: "turn-a", Messages: members, Raw: json.RawMessage("{\"a\":\r\n1}")},
		core.Update{Kind: core.UpdateResult, Turn: "turn-a", Message: &ended, Messages: members},
		core.Update{Kind: core.UpdateBackground, Background: &core.Background{ID: "b-1", Text: "late"}},
		core.Update{Kind: core.UpdateDropped, Dropped: 3},
	)
	wantEvents(t, next, [3]string{"-1", "accepted"}, [3]string{"-2", "queued"}, [3]string{"-3", "started"}, [3]string{"-4", "notice", "a fresh session"},
		[3]string{"-5", "event", `{"a":1}`}, [3]string{"-6", "result", "agent_exit"}, [3]string{"-7", "background", "late"}, [3]string{"-8", "notice", "3 events"})
}

// TestStreamOfATurn follows a message, its channel under a name that must be escaped, and the
// message again under its key.
func TestStreamOfATurn(t *testing.T) {
	r := startRig(t, nil)
	_, channel := r.events(r.request("GET", "/channels/a%2Fb/events", ""))
	resp, own := r.events(r.request("POST", "/message", `{"text":"hold x","channel":"a/b"}`, "Accept", "application/json, text/event-stream;q=0.9", "Idempotency-Key", "k"))
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Length") != "" {
		t.Errorf("got %v", resp.Header)
	}
	wantEvents(t, own, [3]string{"-0", "accepted", `"channel":"a/b"`})
	for e := own(); e.name != "started"; e = own() {
		if e.name != "queued" {
			t.Fatalf("got %+v", e)
		}
	}
	resp, again := r.events(r.request("POST", "/message", `{"text":"hold x","channel":"a/b"}`, "Idempotency-Key", "k", "Accept", "text/event-stream"))
	if e := again(); e.name != "accepted" || resp.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("got %+v, %v", e, resp.Header)
	}
	r.agent.release(t, "x", core.Result{Text: "done"})
	for _, next := range []func() event{own, again} {
		if e := last(next); e.name != "result" || !strings.Contains(e.data, `"text":"done"`) {
			t.Errorf("got %+v", e)
		}
	}
	for _, name := range []string{"accepted", "started", "result"} {
		e := channel()
		for e.name == "event" || e.name == "notice" || e.name == "queued" {
			e = channel()
		}
		if e.name != name {
			t.Errorf("got %+v, want %s", e, name)
		}
	}
}

func TestRefusedStreamIsPlainJSON(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, func(o *lanes.Options) { o.QueueLimit = 1 }, nil)
	r.occupy("http")
	r.want(r.send("POST", "/message", `{"text":"a"}`, "Accept", "text/event-stream"), http.StatusTooManyRequests, "queue_full")
}

// TestClientLeaves holds that a client that disconnects changes nothing for its
// message.
func TestClientLeaves(t *testing.T) {
	r := startRig(t, nil)
	next := r.watch(t, "http")
	for i, accept := range []string{"application/json", "text/event-stream"} {
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			defer close(left)
			req := r.request("POST", "/message", `{"text":"hold x"}`, "Accept", accept).WithContext(ctx)
			if resp, err := (&http.Client{Transport: &http.Transport{}}).Do(req); err == nil {
				<-ctx.Done()
				resp.Body.Close()
			}
		}()
		id := next(core.UpdateAccepted).Message.ID
		next(core.UpdateStarted)
		leave()
		<-left
		r.log.await("route=/message ", i+1)
		r.agent.release(t, "x", core.Result{Text: "kept"})
		if a := r.send("GET", messagePath(id)+"?wait=10s", ""); a.field(t, "text") != "kept" {
			t.Errorf("got %s", a.body)
		}
	}
	if !strings.Contains(r.log.String(), "route=/message status=0") {
		t.Errorf("a client that left is not told apart:\n%s", r.log.String())
	}
}

// TestStreamsBeginWithAPlace holds that a client can resume before it was told
// anything, and is told how soon.
func TestStreamsBeginWithAPlace(t *testing.T) {
	r := startRig(t, nil)
	id := r.occupy("http")
	for _, path := range []string{"/channels/http/events", "/messages/" + id + "/events"} {
		resp, err := r.client.Do(r.request("GET", path, ""))
		check.OK(t, err)
		b := make([]byte, 60)
		n, err := io.ReadAtLeast(resp.Body, b, 40)
		if begin := string(b[:n]); err != nil || !strings.HasPrefix(begin, "retry: 1000\nid: ") || !strings.Contains(begin, "\n: connected\n\n") {
			t.Errorf("%s begins with %q (%v)", path, begin, err)
		}
		resp.Body.Close()
	}
}

// TestStreamsResume opens each kind of stream after an update.
func TestStreamsResume(t *testing.T) {
	r := startRig(t, nil)
	r.occupy("http")
	id := core.MessageID(r.send("POST", "/message", `{"text":"a"}`, "Idempotency-Key", "k", "Prefer", "respond-async").field(t, "message_id").(string))
	place := r.Feeds.Subscribe("http") // keeps the updates
	defer place.Close()
	r.Feeds.Publish("http", said("seen", id))
	u, _ := place.Next()
	for _, u := range []core.Update{said("foreign"), said("missed", id)} {
		r.Feeds.Publish("http", u)
	}
	after := []string{"Last-Event-ID", u.ID.String()}
	_, channel := r.events(r.request("GET", "/channels/http/events", "", after...))
	_, message := r.events(r.request("GET", messagePath(id)+"/events", "", after...))
	_, again := r.events(r.request("POST", "/message", `{"text":"a"}`, append(after, "Idempotency-Key", "k", "Accept", "text/event-stream")...))
	r.Feeds.Publish("http", said("new", id))
	for name, c := range map[string]struct {
		next func() event
		want []string
	}{
		"channel": {channel, []string{"event foreign", "event missed", "event new"}},
		"message": {message, []string{"event missed", "event new"}},
		"again":   {again, []string{"accepted ", "event missed", "event new"}},
	} {
		for _, want := range c.want {
			kind, data, _ := strings.Cut(want, " ")
			if e := c.next(); e.name != kind || e.id == "" || !strings.Contains(e.data, data) {
				t.Errorf("%s: got %+v, want %s", name, e, want)
			}
		}
	}
	r.agent.release(t, "http", core.Result{Text: "first"})
	for _, next := range []func() event{message, again} {
		if e := last(next); e.name != "result" || !strings.Contains(e.data, `"text":"a"`) {
			t.Errorf("got %+v", e)
		}
	}
	_, ended := r.events(r.request("GET", messagePath(id)+"/events", ""))
	if e := ended(); e.name != "result" || ended() != (event{}) {
		t.Errorf("got %+v", e)
	}
	r.want(r.send("GET", "/messages/none/events", ""), http.StatusNotFound, "not_found")
}

// TestGap resumes after what nobody knows: that is said first, and nothing of the
// id is said again.
func TestGap(t *testing.T) {
	r := startRig(t, nil)
	r.occupy("a/b")
	waits := r.accept("a", "a/b")
	for _, id := range []string{"fake-77", "none", "<script>", strings.Repeat("x", 9999), "\"\\\t\x80"} {
		_, channel := r.events(r.request("GET", "/channels/a%2Fb/events", "", "Last-Event-ID", id))
		_, message := r.events(r.request("GET", "/messages/"+waits+"/events", "", "Last-Event-ID", id))
		if e, q := message(), message(); e.name != "notice" || !strings.Contains(e.data, `{"code":"gap","text":"Some events may be missing here`) || q.name != "queued" {
			t.Errorf("%q: %+v, %+v", id, e, q)
		}
		e := channel()
		if e.name != "notice" || e.id == "" || !strings.Contains(e.data, "GET /channels/a%2Fb/messages") || strings.Contains(e.data, id) {
			t.Errorf("%q: %+v", id, e)
		}
	}
}

// TestGatewayStream resumes the stream of the gateway itself, which tells of tools and of no channel, until the
// gateway ends.
func TestGatewayStream(t *testing.T) {
	r := newRig(t, nil)
	place := r.Feeds.Subscribe(core.GatewayFeed) // keeps the updates
	defer place.Close()
	publish := func(kind core.UpdateKind, c core.ToolChange) {
		r.Feeds.Publish(core.GatewayFeed, core.Update{Kind: kind, Tool: &c})
	}
	publish(core.UpdateToolRegistered, core.ToolChange{Tool: "seen", Source: "dynamic", Version: 7})
	seen, _ := place.Next()
	publish(core.UpdateToolReloaded, core.ToolChange{Tool: "greet", Source: "dynamic", Version: 8})
	_, next := r.events(r.request("GET", "/events", "", "Last-Event-ID", seen.ID.String()))
	r.send("POST", "/message", `{"text":"a"}`)
	publish(core.UpdateToolRemoved, core.ToolChange{Tool: "db_query", Source: "mount", Mount: "db", Version: 9})
	wantEvents(t, next,
		[3]string{"-2", "tool:hot-reloaded", `{"tool":"greet","source":"dynamic","version":8}`},
		[3]string{"-3", "tool:removed", `{"tool":"db_query","source":"mount","mount":"db","version":9}`},
	)
	_, lost := r.events(r.request("GET", "/events", "", "Last-Event-ID", "none"))
	wantEvents(t, lost, [3]string{"-0", "notice", "tools/list"}, [3]string{"-1", "tool:registered", "seen"})
	r.server.Drain(ShuttingDown)
	if e := last(next); e.name != "shutdown" || !strings.Contains(e.data, `"events":"/events"`) || !strings.Contains(e.data, "then ask for tools/list") {
		t.Errorf("the stream ends with %+v", e)
	}
}

// TestCarriedByAnotherAdapter: the reply of a coalesced message has the text of the message
// that carries it, if that came in through another adapter.
func TestCarriedByAnotherAdapter(t *testing.T) {
	t.Parallel()
	g := newGateway(t, nil)
	carrier := g.submit(t, "http", "the answer")
	if _, err := carrier.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := &shared{Options: Options{Core: g.core()}}
	for _, c := range []struct {
		adapter, via, want string
		into               core.MessageID
	}{
		{adapterName, "telegram", "the answer", carrier.Message.ID}, {adapterName, "", "", carrier.Message.ID},
		{"telegram", "telegram", "", carrier.Message.ID}, {adapterName, "telegram", "", "gone"},
	} {
		m := core.Message{Adapter: c.adapter, State: core.Answered, EndedAt: time.Now(), Reply: core.Reply{Coalesced: true, Into: c.into, Via: c.via}}
		if got := v.showOutcome(t.Context(), &m, core.QueuePosition{}, shortPrompt); got.Text != c.want {
			t.Errorf("%+v: got %q", c, got.Text)
		}
	}
}
