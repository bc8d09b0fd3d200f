package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

func TestWaitAnswersWithTheOutcome(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	r.reply = func(m *core.Message) {
		if m.Content.Text == "coalesced" {
			settle(m, core.Reply{State: core.Failed, IsError: true, Code: "max_turns", Error: "too many", Coalesced: true, Into: "01890000-0000-7000-8000-000000000009", Duration: time.Second})
			return
		}
		settle(m, core.Reply{State: core.Answered, Text: "a \"quoted\"\n<b>&</b> 🦀 \u2028", Duration: 1234 * time.Millisecond, CostUSD: 0.25, SessionID: "s"})
	}
	got := r.send("POST", "/message", `{"text":"a","channel":"k"}`).object(t)
	want := map[string]any{
		"message_id": "01890000-0000-7000-8000-000000000001", "channel": "k", "state": "answered", "prompt": map[string]any{"text": "a"}, "text": "a \"quoted\"\n<b>&</b> 🦀 \u2028",
		"is_error": false, "duration_ms": 1234.0, "cost_usd": 0.25, "session_id": "s", "adapter": "http",
		"turn_id": "01890000-0000-7000-8000-00000000aaaa", "received_at": "2026-01-02T03:04:05.678900Z", "ended_at": "2026-01-02T03:04:06.678900Z",
	}
	same(t, got, want)
	got = r.send("POST", "/message", `{"text":"coalesced","channel":"k"}`).object(t)
	for name, value := range map[string]any{"text": "", "is_error": true, "code": "max_turns", "coalesced": true, "into": "01890000-0000-7000-8000-000000000009", "duration_ms": 1000.0, "state": "failed"} {
		if got[name] != value {
			t.Errorf("coalesced: %s = %v, want %v", name, got[name], value)
		}
	}
}

func same(t *testing.T, got, want map[string]any) {
	t.Helper()
	g, err := json.Marshal(got, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	w, err := json.Marshal(want, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(g, w) {
		t.Errorf("got  %s\nwant %s", g, w)
	}
}

func TestAsyncThenWait(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	a := r.send("POST", "/message", `{"text":"a"}`, "Prefer", "wait=10, Respond-Async; x", "Accept", "text/event-stream")
	r.want(a, http.StatusAccepted, "")
	path := a.header.Get("Location")
	id := core.MessageID(strings.TrimPrefix(path, "/messages/"))
	if a.header.Get("Preference-Applied") != "respond-async" || a.field(t, "state") != "waiting" || a.field(t, "message_id") != string(id) {
		t.Errorf("got %v %s", a.header, a.body)
	}
	if got := r.send("GET", path, ""); got.field(t, "state") != "waiting" || got.field(t, "position") != 1.0 || got.field(t, "text") != nil {
		t.Errorf("got %s", got.body)
	}
	if got := r.send("GET", path+"?wait=10ms", ""); got.field(t, "state") != "waiting" || got.header.Get("Retry-After") != "1" {
		t.Errorf("a wait that was too short: %v %s", got.header, got.body)
	}
	answered := make(chan answer, 1)
	go func() { answered <- r.send("GET", path+"?wait=1h", "") }()
	r.settle(id, core.Reply{State: core.Answered, Text: "done"})
	if got := <-answered; got.field(t, "text") != "done" || got.field(t, "position") != nil {
		t.Errorf("got %s", got.body)
	}
	for _, wait := range []string{"soon", "-1s", "-5", "5x", "1e3", "0x10", "%205", ""} {
		r.want(r.send("GET", path+"?wait="+wait, ""), http.StatusBadRequest, "bad_wait")
	}
}

// TestWaitWithoutAUnitIsInSeconds measures it in fake time.
func TestWaitWithoutAUnitIsInSeconds(t *testing.T) {
	t.Parallel()
	for wait, want := range map[string]time.Duration{
		"5": 5 * time.Second, "0": 0, "090": 90 * time.Second, "1.5": 1500 * time.Millisecond, "2m": 2 * time.Minute,
		"301": api.MaxWait, "99999999999999999999": api.MaxWait, "100000h": api.MaxWait,
	} {
		t.Run(wait, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				c := pipe(t, f)
				m, err := f.Submit(t.Context(), core.Submission{Channel: "k", Adapter: "http", Mode: core.Collect, Content: core.Content{Text: "a"}})
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				a := roundTrip(t, c, bufio.NewReader(c), "GET "+messagePath(m.message.ID)+"?wait="+wait+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
				if took := time.Since(start); a.status != http.StatusOK || took != want {
					t.Errorf("got %d %s after %v, want it after %v", a.status, a.body, took, want)
				}
			})
		})
	}
}

// TestHead asks for the headers of everything that can be read: they are those of GET, and
// no stream is held open.
func TestHead(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t).echo(), nil)
	waiting, _ := r.send("POST", "/message", `{"text":"a"}`).field(t, "message_id").(string)
	id, _ := r.send("POST", "/schedules", `{"text":"x","when":"in 1h","channel":"http"}`).field(t, "id").(string)
	for _, op := range r.recorder.Operations() {
		method, path, _ := strings.Cut(op, " ")
		if strings.HasPrefix(path, "/schedules/") {
			path = strings.ReplaceAll(path, "{id}", id)
		}
		path = strings.NewReplacer("{key}", "http", "{id}", waiting).Replace(path)
		head := r.send("HEAD", path, "")
		if method != "GET" {
			continue // some of these paths take GET too
		}
		if head.status != http.StatusOK || head.body != "" {
			t.Errorf("HEAD %s: got %d %q", path, head.status, head.body)
		}
		if strings.HasSuffix(path, "/events") {
			if ct := head.header.Get("Content-Type"); ct != "text/event-stream" {
				t.Errorf("HEAD %s: content type %q", path, ct)
			}
			continue
		}
		get := r.send("GET", path, "")
		for _, name := range []string{"Content-Type", "Content-Length", "Cache-Control"} {
			if name == "Content-Length" && (path == "/metrics" || path == "/health") { // which change
				continue
			}
			if head.header.Get(name) != get.header.Get(name) {
				t.Errorf("HEAD %s: %s is %q, of GET it is %q", path, name, head.header.Get(name), get.header.Get(name))
			}
		}
	}
	for path, want := range map[string]int{"/nothing": 404, "/messages/none": 404, "/channels/%20/events": 400, "/message": 405, "/messages/none/events": 404} {
		if a := r.send("HEAD", path, ""); a.status != want || a.body != "" {
			t.Errorf("HEAD %s: got %d, want %d", path, a.status, want)
		}
	}
}

// TestRulesOfNoChannel tells a channel without rules from one that is not there.
func TestRulesOfNoChannel(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t).echo(), nil)
	r.want(r.send("GET", "/channels/nope/rules", ""), http.StatusNotFound, "not_found")
	r.want(r.send("POST", "/message", `{"text":"a","channel":"nope"}`), http.StatusOK, "")
	if a := r.send("GET", "/channels/nope/rules", ""); a.status != http.StatusOK || a.body != `{"channel":"nope","rules":[]}`+"\n" {
		t.Errorf("got %d %q", a.status, a.body)
	}
}

func TestCancelTellsWhatIs(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	id := r.accept("http")
	if a := r.send("DELETE", "/messages/"+string(id), ""); a.field(t, "state") != "cancelled" || a.field(t, "code") != "cancelled" {
		t.Errorf("got %d %s", a.status, a.body)
	}
	a := r.send("DELETE", "/messages/"+string(id), "")
	r.want(a, http.StatusConflict, "not_waiting")
	if m, _ := a.field(t, "message").(map[string]any); m["state"] != "cancelled" {
		t.Errorf("got %s", a.body)
	}
}

func TestTimelineIsInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t).echo(), nil)
	r.ask("a-1", "Bash", `{"command":"ls"}`)
	r.send("POST", "/message", `{"text":"a"}`)
	a := r.send("GET", "/messages/01890000-0000-7000-8000-000000000001/trace", "")
	var got struct {
		Timeline  []api.Mark
		Durations map[string]int64
	}
	if err := json.Unmarshal([]byte(a.body), &got, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	want := []api.Mark{
		{What: "received", At: fakeTime(t, "2026-01-02T03:04:05.678900Z")},
		{What: "queued", At: fakeTime(t, "2026-01-02T03:04:05.678900Z"), TookMS: 1},
		{What: "approval pending", Detail: "Bash", At: fakeTime(t, "2026-01-02T03:04:05.678900Z")},
		{What: "dispatched", At: fakeTime(t, "2026-01-02T03:04:05.679900Z"), AfterMS: 1},
		{What: "started", At: fakeTime(t, "2026-01-02T03:04:05.680900Z"), AfterMS: 2},
		{What: "tool", Detail: "Bash", At: fakeTime(t, "2026-01-02T03:04:06.178900Z"), AfterMS: 500},
		{What: "answered", At: fakeTime(t, "2026-01-02T03:04:06.678900Z"), AfterMS: 1000},
	}
	if len(got.Timeline) != len(want)+1 || got.Timeline[len(want)].What != "delivered" {
		t.Fatalf("got %+v", got.Timeline)
	}
	for stage, want := range map[string]int64{"queued_ms": 1, "running_ms": 999, "total_ms": 1000} {
		if got.Durations[stage] != want {
			t.Errorf("%s is %d, want %d", stage, got.Durations[stage], want)
		}
	}
	for i := range want {
		if got.Timeline[i] != want[i] {
			t.Errorf("mark %d = %+v, want %+v", i, got.Timeline[i], want[i])
		}
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t).echo(), nil)
	for _, text := range []string{"a", "b", "c"} {
		r.want(r.send("POST", "/message", `{"text":"`+text+`"}`), http.StatusOK, "")
	}
	a := r.send("GET", "/channels/http/messages?limit=1&before=01890000-0000-7000-8000-000000000003", "")
	messages, _ := a.field(t, "messages").([]any)
	if len(messages) != 1 || messages[0].(map[string]any)["text"] != "b" {
		t.Errorf("got %s", a.body)
	}
	if background, _ := a.field(t, "background").([]any); len(background) != 1 {
		t.Errorf("got %s", a.body)
	}
	for _, limit := range []string{"0", "501", "-1", "x", "", "1.5"} {
		r.want(r.send("GET", "/channels/http/messages?limit="+limit, ""), http.StatusBadRequest, "bad_limit")
	}
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	for _, id := range []string{"a-1", "a-2", "a-3"} {
		r.ask(id, "Bash", `{"command":"ls"}`)
	}
	r.ask("q-1", core.ToolAskUser, `{"questions":[{"question":"Which?"}]}`)
	for _, body := range []string{
		`{}`, `{"behavior":"maybe"}`, `{"behavior":1}`, `{"behavior":null}`, `{"behavior":"deny","remember":true}`, `{"behavior":"allow","remember":"yes"}`,
		`{"behavior":"allow","updated_input":[]}`, `{"behavior":"deny","updated_input":{}}`, `{"behavior":"allow","answers":[]}`, `{"behavior":"allow","answers":{}}`,
		`{"behavior":"allow","answers":{"Which?":1}}`, `{"behavior":"allow","answers":{"Which?":"A"},"updated_input":{}}`, `{"behavior":"deny","answers":{"Which?":"A"}}`,
		`{"behavior":"allow","message":5}`, `{"behavior":"deny","message":"\u0000"}`, `[]`, `{"behavior":"allow"`,
	} {
		for _, id := range []string{"a-1", "q-1"} {
			if a := r.send("POST", "/approvals/"+id, body); a.status != http.StatusBadRequest {
				t.Errorf("%s: got %d %s", body, a.status, a.body)
			}
		}
	}
	r.want(r.send("POST", "/approvals/a-1", `{"behavior":"allow","answers":{"Which?":"A"}}`), http.StatusBadRequest, "bad_answers")
	r.want(r.send("POST", "/approvals/a-1", `{"behavior":"deny","message":"not now"}`), http.StatusOK, "")
	r.want(r.send("POST", "/approvals/a-2", `{"behavior":"allow","remember":true}`), http.StatusOK, "")
	r.want(r.send("POST", "/approvals/a-3", `{"behavior":"allow","updated_input":{ "command" : "pwd" }}`), http.StatusOK, "")
	r.want(r.send("POST", "/approvals/q-1", `{"behavior":"allow","answers":{"Which?":"A"}}`), http.StatusOK, "")
	r.want(r.send("POST", "/approvals/none", `{"behavior":"allow","answers":{"Which?":"A"}}`), http.StatusNotFound, "not_found")
	a := r.send("POST", "/approvals/a-1", `{"behavior":"allow"}`)
	r.want(a, http.StatusConflict, "not_pending")
	if was, _ := a.field(t, "approval").(map[string]any); was["state"] != "denied" || was["reason"] != "not now" {
		t.Errorf("got %s", a.body)
	}
	want := []core.Decision{
		{Message: "not now"}, {Allow: true, Remember: true}, {Allow: true, UpdatedInput: []byte(`{"command":"pwd"}`)},
		{Allow: true, UpdatedInput: []byte(`{"answers":{"Which?":"A"},"questions":[{"question":"Which?"}]}`)},
	}
	for i, d := range r.decisions {
		if w := want[i]; d.Allow != w.Allow || d.Message != w.Message || d.Remember != w.Remember || !bytes.Equal(d.UpdatedInput, w.UpdatedInput) {
			t.Errorf("decision %d = %+v (%s), want %+v", i, d, d.UpdatedInput, w)
		}
	}
}

// TestSendChecksInOrder holds the order of the checks: the channel, the media,
// then whether there is anything to send.
func TestSendChecksInOrder(t *testing.T) {
	t.Parallel()
	var got core.Push
	r := newRig(t, newFake(t), func(o *Options) {
		o.Push.Register("tg-", func(_ context.Context, p core.Push) error { got = p; return nil })
	})
	for _, c := range []struct{ body, code, text string }{
		{`{}`, "missing_channel", `Missing \"channel\" field`},
		{`{"media":{"filePath":5}}`, "bad_media", "media.filePath"},
		{`{"media":{}}`, "missing_channel", ""},
		{`{"channel":5}`, "bad_channel", ""},
		{`{"channel":" "}`, "bad_channel", ""},
		{`{"channel":"tg-1","media":{}}`, "bad_media", `\"media.filePath\" must be a string`},
		{`{"channel":"tg-1","media":{"filePath":""}}`, "bad_media", ""},
		{`{"channel":"tg-1","media":{"filePath":"a\u0000b"}}`, "bad_media", ""},
		{`{"channel":"tg-1","media":{"filePath":"/a","type":"film"}}`, "bad_media", ""},
		{`{"channel":"tg-1","media":"/a"}`, "bad_media", ""},
		{`{"channel":"tg-1"}`, "missing_text", `Missing \"text\" or \"media\" field`},
		{`{"channel":"tg-1","text":" "}`, "missing_text", ""},
		{`{"channel":"tg-1","text":5}`, "bad_text", ""},
		{`{"channel":"tg-1","text":"\u0007"}`, "bad_text", ""},
		{`[]`, "invalid_body", ""},
	} {
		a := r.send("POST", "/send", c.body)
		if a.status != http.StatusBadRequest || a.field(t, "code") != c.code || !strings.Contains(a.body, c.text) {
			t.Errorf("%s: got %d %s, want %s", c.body, a.status, a.body, c.code)
		}
	}
	a := r.send("POST", "/send", `{"channel":"web-1","text":"a"}`)
	r.want(a, http.StatusNotFound, "no_adapter")
	if !strings.Contains(a.body, `"registered_prefixes":["tg-"]`) {
		t.Errorf("got %s", a.body)
	}
	same(t, r.send("POST", "/send", `{"channel":"tg-1","text":" ","media":{"filePath":"/a.png","type":"photo"}}`).object(t), map[string]any{"status": "sent", "channel": "tg-1"})
	if got.Channel != "tg-1" || got.Media == nil || *got.Media != (core.Media{Path: "/a.png", Type: "photo"}) {
		t.Errorf("pushed %+v", got)
	}
}

// TestSendKeys: what a client gives a key is known by it.
func TestSendKeys(t *testing.T) {
	t.Parallel()
	var ids []string
	r := newRig(t, newFake(t), func(o *Options) {
		o.Push.Register("tg-", func(_ context.Context, p core.Push) error {
			ids = append(ids, p.ID)
			return nil
		})
	})
	for _, header := range [][]string{{"Idempotency-Key", "k 1"}, {"Idempotency-Key", "k 1"}, {"Idempotency-Key", "k 2"}, nil, nil} {
		r.want(r.send("POST", "/send", `{"channel":"tg-1","text":"a"}`, header...), http.StatusOK, "")
	}
	r.want(r.send("POST", "/send", `{"channel":"tg-1","text":"a"}`, "Idempotency-Key", "ü"), http.StatusBadRequest, "bad_idempotency_key")
	if len(ids) != 5 || ids[0] != ids[1] {
		t.Fatalf("pushed %q, want five of which the first two are one", ids)
	}
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n != 4 {
		t.Errorf("%d different ids, want 4: %q", n, ids)
	}
}

func TestHealthStates(t *testing.T) {
	t.Parallel()
	h := Health{PID: 42, Version: "v1", Ready: true, Generation: 3, StartedAt: time.Now().Add(-time.Minute), Agent: Agent{Kind: "claude", Path: "/bin/claude"}}
	for _, c := range []struct {
		change func(*Health)
		status string
	}{
		{func(*Health) {}, "ok"},
		{func(h *Health) { h.Ready = false }, "starting"},
		{func(h *Health) { h.Agent.Problem = "not logged in" }, "degraded"},
		{func(h *Health) { h.Problems = []string{"the session file was corrupt"} }, "degraded"},
	} {
		now := h
		c.change(&now)
		r := newRig(t, newFake(t), func(o *Options) { o.Health = func() Health { return now } })
		if got := r.send("GET", "/health", "").object(t); got["status"] != c.status || got["pid"] != 42.0 || got["uptime_ms"].(float64) < 60000 {
			t.Errorf("got %v, want %s", got, c.status)
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t).echo(), nil)
	r.send("POST", "/message", `{"text":"a"}`)
	for _, op := range r.recorder.Operations() { // each method of the API is told by its name
		method, _, _ := strings.Cut(op, " ")
		r.send(method, "/none", "")
	}
	r.send("HEAD", "/none", "")
	for _, method := range []string{"GET", "HEAD", "POST", "PATCH", "DELETE"} {
		eventually(t, method, func() bool {
			return strings.Contains(r.send("GET", "/metrics", "").body, `bareclaw_http_request_duration_seconds_count{method="`+method+`",route="other",status="404"}`)
		})
	}
	r.send("BREW", "/none", "")
	eventually(t, "all lines", func() bool {
		return strings.Contains(r.send("GET", "/metrics", "").body, `bareclaw_http_request_duration_seconds_count{method="other",route="other",status="404"} 1`)
	})
	a := r.send("GET", "/metrics", "")
	if ct := a.header.Get("Content-Type"); !strings.HasPrefix(ct, "text/plain; version=0.0.4") {
		t.Errorf("content type %q", ct)
	}
	for _, line := range []string{
		`bareclaw_messages_accepted_total 10`, `bareclaw_messages_total{outcome="answered"} 5`, `bareclaw_messages_total{outcome="failed"} 2`,
		`bareclaw_messages_total{outcome="cancelled"} 1`, `bareclaw_messages_waiting 2`, `bareclaw_balance_ok 1`, `bareclaw_turns_total 8`,
		`bareclaw_turn_errors_total 2`, `bareclaw_lanes 3`, `bareclaw_sessions 2`, `bareclaw_queue_refused_total 0`, `version="v1"} 1`,
		`bareclaw_http_request_duration_seconds_count{method="POST",route="/message",status="200"} 1`,
	} {
		if !strings.Contains(a.body, line+"\n") {
			t.Errorf("no line %q in\n%s", line, a.body)
		}
	}
	r.mu.Lock()
	r.uneven = true
	r.mu.Unlock()
	if a := r.send("GET", "/metrics", ""); !strings.Contains(a.body, "bareclaw_balance_ok 0\n") {
		t.Errorf("an uneven balance is not told:\n%s", a.body)
	}
	r.fail(core.ErrStorage)
	if a := r.send("GET", "/metrics", ""); strings.Contains(a.body, "bareclaw_balance_ok") || !strings.Contains(a.body, "bareclaw_lanes 3\n") {
		t.Errorf("without the ledger:\n%s", a.body)
	}
}

// TestPanicIsNotShown holds that a fault of a handler is a JSON error, and that
// the server lives on.
func TestPanicIsNotShown(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := newRig(t, f, nil)
	f.reply = func(*core.Message) {
		defer f.mu.Lock() // as Submit expects
		f.mu.Unlock()
		panic("boom in here")
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	a := r.do(&http.Client{Transport: transport}, r.request("POST", "/message", `{"text":"a"}`))
	r.want(a, http.StatusInternalServerError, "internal")
	if strings.Contains(a.body, "boom") || strings.Contains(a.body, "goroutine") {
		t.Errorf("got %s", a.body)
	}
	eventually(t, "the log line", func() bool { return strings.Contains(r.log.String(), "boom in here") })
	r.want(r.send("GET", "/health", ""), http.StatusOK, "")
}

func fakeTime(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
