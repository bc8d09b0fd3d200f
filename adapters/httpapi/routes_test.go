package httpapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/core"
	"bareclaw/core/schedule"
	"bareclaw/internal/testkit/check"
)

// TestMessageShape holds what a message and its outcome are in JSON.
func TestMessageShape(t *testing.T) {
	t.Parallel()
	m := core.Message{
		ID: "m-1", Channel: "k", Adapter: "http", Turn: "t-1", State: core.Answered, Prompt: core.Prompt{Text: "a"},
		ReceivedAt: startedAt, EndedAt: startedAt.Add(time.Second),
		Reply: core.Reply{State: core.Answered, Text: "a \"quoted\"\n<b>&</b> 🦀 \u2028", Duration: 1234 * time.Millisecond, CostUSD: 0.25, SessionID: "s"},
	}
	shown := func(m *core.Message) map[string]any {
		return shapeOf(t, showMessage(m, core.QueuePosition{}, shortPrompt))
	}
	same(t, shown(&m), map[string]any{
		"message_id": "m-1", "channel": "k", "state": "answered", "prompt": map[string]any{"text": "a"}, "text": "a \"quoted\"\n<b>&</b> 🦀 \u2028",
		"is_error": false, "duration_ms": 1234.0, "cost_usd": 0.25, "session_id": "s", "adapter": "http",
		"turn_id": "t-1", "received_at": "2026-01-02T03:04:05.678900Z", "ended_at": "2026-01-02T03:04:06.678900Z",
	})
	m.State, m.Reply = core.Failed, core.Reply{IsError: true, Code: "max_turns", Error: "too many", Coalesced: true, Into: "m-9", Duration: time.Second}
	for name, value := range map[string]any{"text": "", "is_error": true, "code": "max_turns", "coalesced": true, "into": "m-9", "duration_ms": 1000.0, "state": "failed"} {
		if got := shown(&m)[name]; got != value {
			t.Errorf("coalesced: %s = %v, want %v", name, got, value)
		}
	}
}

func TestAsyncThenWait(t *testing.T) {
	r := startRig(t, nil)
	r.occupy("http")
	a := r.send("POST", "/message", `{"text":"done"}`, "Prefer", "wait=10, Respond-Async; x", "Accept", "text/event-stream")
	r.want(a, http.StatusAccepted, "")
	path := a.header.Get("Location")
	if a.header.Get("Preference-Applied") != "respond-async" || a.field(t, "state") != "waiting" || messagePath(core.MessageID(a.field(t, "message_id").(string))) != path {
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
	r.agent.release(t, "http", core.Result{Text: "first"})
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
				g := newGateway(t, nil)
				c := pipe(t, g)
				m := g.submit(t, "k", "hold k").Message
				start := time.Now()
				a := roundTrip(t, c, bufio.NewReader(c), "GET "+messagePath(m.ID)+"?wait="+wait+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
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
	r := startRig(t, nil)
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
	r := startRig(t, nil)
	r.want(r.send("GET", "/channels/nope/rules", ""), http.StatusNotFound, "not_found")
	r.want(r.send("POST", "/message", `{"text":"a","channel":"nope"}`), http.StatusOK, "")
	if a := r.send("GET", "/channels/nope/rules", ""); a.status != http.StatusOK || a.body != `{"channel":"nope","rules":[]}`+"\n" {
		t.Errorf("got %d %q", a.status, a.body)
	}
}

func TestCancelTellsWhatIs(t *testing.T) {
	r := startRig(t, nil)
	r.occupy("http")
	id := r.accept("a", "http")
	if a := r.send("DELETE", "/messages/"+id, ""); a.field(t, "state") != "cancelled" || a.field(t, "code") != "cancelled" {
		t.Errorf("got %d %s", a.status, a.body)
	}
	a := r.send("DELETE", "/messages/"+id, "")
	r.want(a, http.StatusConflict, "not_waiting")
	if m, _ := a.field(t, "message").(map[string]any); m["state"] != "cancelled" {
		t.Errorf("got %s", a.body)
	}
}

func TestTimelineIsInOrder(t *testing.T) {
	t.Parallel()
	after := func(ms int) time.Time { return startedAt.Add(time.Duration(ms) * time.Millisecond) }
	m := core.Message{ID: "m-1", Adapter: "http", State: core.Answered, ReceivedAt: startedAt, DispatchedAt: after(1), EndedAt: after(1000)}
	got := showTrace(&core.Trace{
		Message: m, Approvals: []core.Approval{{Tool: "Bash", State: core.ApprovalPending, CreatedAt: after(600)}},
		Turn: &core.Turn{Marks: []core.Mark{{At: after(500), What: "tool", Detail: "Bash"}, {At: after(2), What: "first_event"}}},
	})
	want := []api.Mark{
		{What: "received", At: startedAt},
		{What: "queued", At: startedAt, TookMS: 1},
		{What: "dispatched", At: after(1), AfterMS: 1},
		{What: "first_event", At: after(2), AfterMS: 2},
		{What: "tool", Detail: "Bash", At: after(500), AfterMS: 500},
		{What: "approval pending", Detail: "Bash", At: after(600), AfterMS: 600},
		{What: "answered", At: after(1000), AfterMS: 1000},
	}
	if !slices.Equal(got.Timeline, want) {
		t.Errorf("got %+v", got.Timeline)
	}
	if d := got.Durations; *d.QueuedMS != 1 || *d.FirstEventMS != 1 || *d.RunningMS != 999 || *d.TotalMS != 1000 {
		t.Errorf("got %+v", d)
	}
}

func TestHistory(t *testing.T) {
	r := startRig(t, nil)
	var last answer
	for _, text := range []string{"a", "b", "c"} {
		last = r.send("POST", "/message", `{"text":"`+text+`"}`)
		r.want(last, http.StatusOK, "")
	}
	a := r.send("GET", "/channels/http/messages?limit=1&before="+last.field(t, "message_id").(string), "")
	messages, _ := a.field(t, "messages").([]any)
	if len(messages) != 1 || messages[0].(map[string]any)["text"] != "b" {
		t.Errorf("got %s", a.body)
	}
	for _, limit := range []string{"0", "501", "-1", "x", "", "1.5"} {
		r.want(r.send("GET", "/channels/http/messages?limit="+limit, ""), http.StatusBadRequest, "bad_limit")
	}
}

func TestDecisions(t *testing.T) {
	r := startRig(t, nil)
	first := "/approvals/" + r.asks("Bash", `{"command":"ls"}`)
	for _, row := range []struct{ tool, input, body, answer string }{
		{"", "", `{"behavior":"deny","message":"not now"}`, "denied: not now"},
		{"Bash", `{"command":"ls"}`, `{"behavior":"allow","updated_input":{ "command" : "pwd" }}`, `allowed: {"command":"pwd"}`},
		{core.ToolAskUser, `{"questions":[{"question":"Which?"}]}`, `{"behavior":"allow","answers":{"Which?":"A"}}`, `allowed: {"answers":{"Which?":"A"},"questions":[{"question":"Which?"}]}`},
	} {
		path := first
		if row.tool != "" {
			path = "/approvals/" + r.asks(row.tool, row.input)
		}
		decided := r.send("POST", path, row.body)
		r.want(decided, http.StatusOK, "")
		if a := r.send("GET", "/messages/"+decided.field(t, "message_id").(string)+"?wait=10s", ""); a.field(t, "text") != row.answer {
			t.Errorf("%s: got %s, want %s", row.body, a.body, row.answer)
		}
	}
	a := r.send("POST", first, `{"behavior":"allow"}`)
	r.want(a, http.StatusConflict, "not_pending")
	if was, _ := a.field(t, "approval").(map[string]any); was["state"] != "denied" || was["reason"] != "not now" {
		t.Errorf("got %s", a.body)
	}
}

// TestSend holds what the adapter of a channel gets.
func TestSend(t *testing.T) {
	t.Parallel()
	var got core.Push
	r := newRig(t, func(o *Options) {
		o.Push.Register("tg-", func(_ context.Context, p core.Push) error { got = p; return nil })
	})
	same(t, r.send("POST", "/send", `{"channel":"tg-1","text":" ","media":{"filePath":"/a.png","type":"photo"}}`).object(t), map[string]any{"status": "sent", "channel": "tg-1"})
	if got.Channel != "tg-1" || got.Media == nil || *got.Media != (core.Media{Path: "/a.png", Type: "photo"}) {
		t.Errorf("pushed %+v", got)
	}
}

// TestSendKeys: what a client gives a key is known by it.
func TestSendKeys(t *testing.T) {
	t.Parallel()
	var ids []string
	r := newRig(t, func(o *Options) {
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
	h := api.Health{Ledger: &api.Ledger{}, PID: 42, Version: "v1", Ready: true, Generation: 3, StartedAt: time.Now().Add(-time.Minute), Agent: api.Agent{Kind: "claude", Path: "/bin/claude"}}
	for _, c := range []struct {
		change func(*api.Health)
		status string
	}{
		{func(*api.Health) {}, "ok"},
		{func(h *api.Health) { h.Ready = false }, "starting"},
		{func(h *api.Health) { h.Agent.Problem = "not logged in" }, "degraded"},
		{func(h *api.Health) { h.Problems = []string{"the session file was corrupt"} }, "degraded"},
	} {
		now := h
		c.change(&now)
		r := newRig(t, func(o *Options) { o.Health = func() api.Health { return now } })
		if got := r.send("GET", "/health", "").object(t); got["status"] != c.status || got["pid"] != 42.0 || got["uptime_ms"].(float64) < 60000 {
			t.Errorf("got %v, want %s", got, c.status)
		}
	}
}

// TestParts holds that the facts and metrics of the daemon's parts are in the replies.
func TestParts(t *testing.T) {
	r := startRig(t, func(o *Options) {
		h := o.Health()
		h.AddPart(api.Part{Name: "pigeons", Problem: "asleep", Facts: map[string]any{"strangers": 3}, Member: true})
		o.Health = func() api.Health { return h }
		o.Metrics = []prometheus.Collector{metrics.Func(func(w *metrics.Writer) { w.Gauge("part_count", "A metric of a part.", 3) })}
	})
	got := r.send("GET", "/health", "").object(t)
	want := map[string]any{"ready": false, "problem": "asleep", "strangers": 3.0}
	if !reflect.DeepEqual(got["pigeons"], want) {
		t.Errorf("the member is %v", got["pigeons"])
	}
	parts, _ := got["parts"].([]any)
	wantPart := map[string]any{"name": "pigeons", "ready": false, "problem": "asleep", "facts": map[string]any{"strangers": 3.0}}
	if len(parts) == 0 || !reflect.DeepEqual(parts[len(parts)-1], wantPart) {
		t.Errorf("the parts are %v", parts)
	}
	if problems, _ := got["problems"].([]any); !slices.Contains(problems, any("asleep")) {
		t.Errorf("the problems are %v", problems)
	}
	if body := r.send("GET", "/metrics", "").body; !strings.Contains(body, "part_count 3\n") {
		t.Errorf("the part's metric is missing:\n%s", body)
	}
}

func TestMetrics(t *testing.T) {
	r := startRig(t, nil)
	r.send("POST", "/message", `{"text":"a"}`)
	r.send("POST", "/message", `{"text":"fail api_error"}`)
	for _, method := range []string{"GET", "HEAD", "POST", "PATCH", "DELETE", "BREW"} {
		r.send(method, "/none", "")
		if method == "BREW" {
			method = "other"
		}
		// The next request on the connection is served when the last one has been counted.
		want := `bareclaw_http_request_duration_seconds_count{method="` + method + `",route="other",status="404"} 1`
		if body := r.send("GET", "/metrics", "").body; !strings.Contains(body, want+"\n") {
			t.Errorf("no line %q in\n%s", want, body)
		}
	}
	a := r.send("GET", "/metrics", "")
	if ct := a.header.Get("Content-Type"); !strings.HasPrefix(ct, "text/plain; version=0.0.4") {
		t.Errorf("content type %q", ct)
	}
	for _, line := range []string{
		`bareclaw_messages_accepted_total 2`, `bareclaw_messages_total{outcome="answered"} 1`, `bareclaw_messages_total{outcome="failed"} 1`,
		`bareclaw_messages_total{outcome="cancelled"} 0`, `bareclaw_messages_waiting 0`, `bareclaw_balance_ok 1`, `bareclaw_turns_total 2`,
		`bareclaw_turn_errors_total 1`, `bareclaw_lanes 1`, `bareclaw_sessions 1`, `bareclaw_queue_refused_total 0`, `version="v1"} 1`,
		`bareclaw_http_request_duration_seconds_count{method="POST",route="/message",status="200"} 2`,
	} {
		if !strings.Contains(a.body, line+"\n") {
			t.Errorf("no line %q in\n%s", line, a.body)
		}
	}
	r.ledger.fail(core.ErrStorage)
	if a := r.send("GET", "/metrics", ""); strings.Contains(a.body, "bareclaw_balance_ok") || !strings.Contains(a.body, "bareclaw_lanes 1\n") {
		t.Errorf("without the ledger:\n%s", a.body)
	}
	if a := r.send("GET", "/health", ""); a.field(t, "status") != "degraded" {
		t.Errorf("without the ledger: %s", a.body)
	}
}

// TestPanicIsNotShown holds that a fault of a handler is a JSON error, and that
// the server lives on.
func TestPanicIsNotShown(t *testing.T) {
	r := startRig(t, func(o *Options) { o.Restart = func(context.Context) error { panic("boom in here") } })
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	a := r.do(&http.Client{Transport: transport}, r.request("POST", "/restart", ""))
	r.want(a, http.StatusInternalServerError, "internal")
	if strings.Contains(a.body, "boom") || strings.Contains(a.body, "goroutine") {
		t.Errorf("got %s", a.body)
	}
	if !strings.Contains(r.log.String(), "boom in here") {
		t.Errorf("the panic is not logged:\n%s", r.log.String())
	}
	r.want(r.send("GET", "/health", ""), http.StatusOK, "")
}

// TestErrorsOfCore holds the answers to the errors of core.
func TestErrorsOfCore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err        error
		status     int
		code       string
		retryAfter string
	}{
		{core.ErrStorage, 503, "storage_unavailable", "5"}, {core.ErrStorageFull, 507, "storage_full", ""}, {core.ErrClosed, 503, "shutting_down", "2"},
		{core.ErrQueueFull, 429, "queue_full", "5"}, {core.ErrKeyReused, 422, "idempotency_mismatch", ""}, {core.ErrBadContent, 400, "bad_content", ""},
		{fmt.Errorf("%w: no such mode", core.ErrBadSetting), 400, "bad_setting", ""}, {core.ErrNotFound, 404, "not_found", ""}, {context.Canceled, 503, "shutting_down", "2"},
		{errors.New("secret detail of a fault"), 500, "internal", ""},
	} {
		p := explain(&response{log: slog.New(slog.DiscardHandler)}, fmt.Errorf("while testing: %w", c.err))
		if p.status != c.status || p.body.Code != c.code || p.headers["Retry-After"] != c.retryAfter || strings.Contains(p.body.Error, "secret") {
			t.Errorf("%v: got %+v", c.err, p)
		}
	}
	r := newRig(t, nil)
	r.ledger.fail(core.ErrStorageFull)
	r.want(r.send("POST", "/message", `{"text":"a"}`, "Accept", "text/event-stream"), http.StatusInsufficientStorage, "storage_full")
}

func TestUpgradeOrders(t *testing.T) {
	t.Parallel()
	var refusal error
	r := newRig(t, func(o *Options) { o.Upgrade = func(context.Context, api.UpgradeRequest) error { return refusal } })
	r.want(r.send("POST", "/upgrade", `{"path":"/bin/new","channel":"http"}`), http.StatusOK, "")
	refusal = fmt.Errorf("%w: one is on trial", ErrUpgrading)
	r.want(r.send("POST", "/upgrade", `{"rollback":true}`), http.StatusConflict, "upgrade_running")
	refusal = errors.New("no program")
	r.want(r.send("POST", "/upgrade", `{"rollback":true}`), http.StatusServiceUnavailable, "upgrade_failed")
}

func TestSchedules(t *testing.T) {
	r := startRig(t, nil)
	const daily = `{"channel":"http","text":"look","when":"cron 0 9 * * *","tz":"UTC","missed":"within 30m","precheck":"true","budget_usd":0.5}`
	r.want(r.send("POST", "/schedules", daily, "Idempotency-Key", "k"), 201, "")
	r.want(r.send("POST", "/schedules", daily, "Idempotency-Key", "k"), 200, "")
	r.want(r.send("POST", "/schedules", `{"channel":"http","text":"look","when":"in 1h"}`, "Idempotency-Key", "k"), 422, "idempotency_mismatch")
	r.want(r.send("POST", "/schedules", daily, "Idempotency-Key", "ü"), 400, "bad_idempotency_key")
	// The agent's own commands reach the socket.
	r.want(r.do(r.local, r.request("POST", "/schedules", `{"channel":"c","text":"a","when":"in 1h","precheck":"true"}`)), 403, "not_on_socket")
	r.want(r.do(r.local, r.request("POST", "/schedules", `{"channel":"c","text":"a","when":"in 1h"}`)), 201, "")
	same(t, shapeOf(t, showOccurrence(&schedule.Occurrence{
		Due: startedAt, DecidedAt: startedAt, Outcome: schedule.Sent, Message: "m-1", Late: true, Status: 3, Why: "So.",
		Answer: &schedule.Answer{State: core.Failed, Code: "agent_error", Text: "no", CostUSD: 0.5, Duration: time.Second, Push: schedule.NotPushed, To: "tg-7", Problem: "no"},
	})), map[string]any{
		"due": "2026-01-02T03:04:05.678900Z", "decided_at": "2026-01-02T03:04:05.678900Z", "outcome": "sent", "message_id": "m-1", "late": true, "status": 3.0, "why": "So.",
		"answer": map[string]any{"state": "failed", "code": "agent_error", "text": "no", "cost_usd": 0.5, "duration_ms": 1000.0, "push": "not_pushed", "to": "tg-7", "problem": "no"},
	})
}

// shapeOf returns a shape as its JSON is read.
func shapeOf(t *testing.T, shape any) map[string]any {
	t.Helper()
	body, err := marshal(shape)
	check.OK(t, err)
	return answer{body: string(body)}.object(t)
}

// TestRemoveChannel: a channel goes with its history and schedules once nothing waits or runs on it,
// and what it has cost stays.
func TestRemoveChannel(t *testing.T) {
	r := startRig(t, nil)
	r.want(r.send("POST", "/message", `{"text":"a","channel":"desk"}`), 200, "")
	r.want(r.send("POST", "/schedules", `{"channel":"desk","text":"a","when":"@yearly"}`), 201, "")
	id := r.occupy("desk")
	r.want(r.send("POST", "/channels/desk/remove", ""), 409, "channel_busy")
	r.want(r.do(r.local, r.request("POST", "/channels/desk/remove", "")), 403, "not_on_socket")
	r.want(r.send("DELETE", "/channels/desk", ""), 200, "")
	before, err := r.Lookup.Balance(t.Context())
	check.OK(t, err)
	same(t, r.send("POST", "/channels/desk/remove", "").object(t), map[string]any{"status": "removed", "channel": "desk", "messages": 2.0, "kept": 0.0, "schedules": 1.0})
	r.want(r.send("GET", "/channels/desk", ""), 404, "not_found")
	r.want(r.send("GET", "/messages/"+id, ""), 404, "not_found")
	r.want(r.send("POST", "/channels/desk/remove", ""), 404, "not_found")
	if after, err := r.Lookup.Balance(t.Context()); err != nil || after != before {
		t.Errorf("the account is %+v, %v; it was %+v", after, err, before)
	}
	r.want(r.send("POST", "/message", `{"text":"b","channel":"desk"}`), 200, "") // anew
}

// TestShortIDs: what lists show of an id finds the message.
func TestShortIDs(t *testing.T) {
	r := startRig(t, nil)
	id := r.accept("a", "desk")
	r.accept("b", "desk")
	for _, text := range []string{id, id[len(id)-8:], id[:len(id)-1]} {
		if a := r.send("GET", "/messages/"+text, ""); a.field(t, "message_id") != id {
			t.Errorf("%s finds %s", text, a.body)
		}
	}
	r.want(r.send("GET", "/messages/"+id[:2], ""), 409, "ambiguous_id")
	r.want(r.send("GET", "/messages/zzzz", ""), 404, "not_found")
}
