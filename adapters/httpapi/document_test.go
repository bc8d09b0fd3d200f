package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/schedule"
)

// TestDocument provokes every answer that the document has, on one server, and
// holds each against it. Answers that it has not fail in the recorder.
func TestDocument(t *testing.T) {
	t.Parallel()
	var restart, upgrade error
	push := &core.PushRegistry{}
	f := newFake(t)
	r := newRig(t, f, func(o *Options) {
		o.Push, o.Token = push, "right"
		o.Restart = func(context.Context) error { return restart }
		o.Upgrade = func(context.Context, UpgradeOrder) error { return upgrade }
		o.LastUpgrade = func() (Upgrade, bool, error) {
			return Upgrade{State: "went_back", From: "v1", To: "v2", Channel: "http", Reason: "It died.", BeganAt: time.Now(), EndedAt: time.Now()}, true, nil
		}
	})
	do := func(want int, code, method, path, body string, headers ...string) answer {
		t.Helper()
		a := r.send(method, path, body, append([]string{"Authorization", "Bearer right"}, headers...)...)
		r.want(a, want, code)
		return a
	}
	documentMessages(r, do)
	documentChannels(r, do)
	documentApprovals(r, do)
	documentSend(push, do)
	documentSchedules(r, do)

	do(200, "", "GET", "/health", "")
	do(200, "", "GET", "/metrics", "")
	do(200, "", "GET", "/openapi.yaml", "")
	do(200, "", "POST", "/restart", "")
	do(200, "", "POST", "/restart", `{"any":"thing"}`)
	do(400, "invalid_body", "POST", "/restart", `[]`)
	restart = errors.New("no binary")
	do(503, "restart_failed", "POST", "/restart", "")
	do(200, "", "GET", "/upgrade", "")
	do(200, "", "POST", "/upgrade", `{"path":"/bin/new","channel":"http"}`)
	do(200, "", "POST", "/upgrade", `{"rollback":true}`)
	for _, body := range []string{`{}`, `{"path":"new"}`, `{"path":"/new","rollback":true}`, `{"path":"/a\u0000b"}`, `{"path":7}`, `{"rollback":"yes"}`} {
		do(400, "bad_path", "POST", "/upgrade", body)
	}
	do(400, "bad_channel", "POST", "/upgrade", `{"rollback":true,"channel":" "}`)
	upgrade = fmt.Errorf("%w: one is on trial", ErrUpgrading)
	do(409, "upgrade_running", "POST", "/upgrade", `{"rollback":true}`)
	upgrade = errors.New("no program")
	do(503, "upgrade_failed", "POST", "/upgrade", `{"rollback":true}`)

	large := strings.Repeat(" ", 70<<10)
	for _, path := range []string{"/message", "/send", "/schedules", "/schedules/heartbeat/run", "/restart", "/upgrade", "/channels/http/interrupt", "/approvals/x", "/messages/x/retry"} {
		do(413, "body_too_large", "POST", path, large)
		do(415, "unsupported_media_type", "POST", path, "a", "Content-Type", "text/plain")
	}
	do(413, "body_too_large", "PATCH", "/channels/http", large)
	do(415, "unsupported_media_type", "PATCH", "/channels/http", "a", "Content-Type", "text/plain")
	for _, op := range r.recorder.Operations() {
		method, path, _ := strings.Cut(op, " ")
		path = strings.NewReplacer("{key}", "http", "{id}", "x").Replace(path)
		do(401, "unauthorized", method, path, "", "Authorization", "Bearer wrong")
		do(403, "foreign_host", method, path, "", "Host", "evil.example")
	}
	if missing := r.recorder.Uncovered(); len(missing) > 0 {
		t.Errorf("never provoked:\n%s", strings.Join(missing, "\n"))
	}
}

type doFunc func(want int, code, method, path, body string, headers ...string) answer

func documentMessages(r *rig, do doFunc) {
	id := r.acceptWith(do)
	do(200, "", "GET", "/messages/"+id, "")
	do(200, "", "GET", "/messages/"+id+"?wait=1ms", "")
	do(400, "bad_wait", "GET", "/messages/"+id+"?wait=soon", "")
	do(404, "not_found", "GET", "/messages/none", "")
	do(404, "not_found", "GET", "/messages/none?wait=1s", "")
	do(200, "", "GET", "/messages/"+id+"/trace", "")
	resp, _ := r.events(r.request("GET", "/messages/"+id+"/events", "", "Authorization", "Bearer right"))
	resp.Body.Close()
	do(404, "not_found", "GET", "/messages/none/events", "")
	do(200, "", "DELETE", "/messages/"+id, "")
	do(409, "not_waiting", "DELETE", "/messages/"+id, "")
	do(404, "not_found", "DELETE", "/messages/none", "")
	do(404, "not_found", "GET", "/messages/none/trace", "")
	do(200, "", "GET", "/messages/"+id+"/content", "")
	do(404, "not_found", "GET", "/messages/none/content", "")
	do(409, "not_failed", "POST", "/messages/"+id+"/retry", "")
	do(404, "not_found", "POST", "/messages/none/retry", `{}`)
	do(400, "invalid_body", "POST", "/messages/none/retry", `[]`)

	r.reply = func(m *core.Message) {
		settle(m, core.Reply{
			State: core.Failed, Text: "Something broke.", IsError: true, Code: "agent_exit", Error: "claude exited", Duration: 1,
			Coalesced: true, Into: m.ID, CostUSD: 1e-7, SessionID: "s", Notices: []core.Notice{{Code: "new_session", Text: "a"}, {Code: "b", Text: "c"}},
		})
		m.RetryOf = m.ID
	}
	failed, _ := do(200, "", "POST", "/message", `{"text":"a"}`, "Idempotency-Key", "k").field(r.T, "message_id").(string)
	do(200, "", "POST", "/message", `{"text":"a"}`, "Idempotency-Key", "k")
	do(200, "", "POST", "/messages/"+failed+"/retry", "")
	again, _ := do(200, "", "POST", "/message", `{"text":"b"}`).field(r.T, "message_id").(string)
	do(202, "", "POST", "/messages/"+again+"/retry", "", "Prefer", "respond-async")
	do(200, "", "POST", "/messages/"+failed+"/retry", "", "Accept", "text/event-stream")
	do(200, "", "POST", "/message", `{"text":"a"}`, "Accept", "text/event-stream")
	do(400, "missing_text", "POST", "/message", `{}`)
	for err, want := range map[error]struct {
		status int
		code   string
	}{
		core.ErrKeyReused: {422, "idempotency_mismatch"}, core.ErrQueueFull: {429, "queue_full"}, core.ErrClosed: {503, "shutting_down"},
		core.ErrStorage: {503, "storage_unavailable"}, core.ErrStorageFull: {507, "storage_full"}, core.ErrBadContent: {400, "bad_content"},
	} {
		r.fail(errors.Join(errors.New("while testing"), err))
		for _, accept := range []string{"*/*", "text/event-stream"} {
			do(want.status, want.code, "POST", "/message", `{"text":"a"}`, "Accept", accept)
		}
		if !errors.Is(err, core.ErrKeyReused) { // its key is its own
			do(want.status, want.code, "POST", "/messages/"+failed+"/retry", "")
		}
	}
	r.fail(nil)
}

func (r *rig) acceptWith(do doFunc) string {
	a := do(202, "", "POST", "/message", `{"text":"a"}`, "Prefer", "respond-async")
	id, _ := a.field(r.T, "message_id").(string)
	return id
}

func documentChannels(r *rig, do doFunc) {
	do(200, "", "GET", "/channels", "")
	do(200, "", "GET", "/channels/http", "")
	do(404, "not_found", "GET", "/channels/none", "")
	do(400, "bad_channel", "GET", "/channels/%20", "")
	do(200, "", "GET", "/channels/http/messages?limit=2", "")
	do(400, "bad_limit", "GET", "/channels/http/messages?limit=0", "")
	do(404, "not_found", "GET", "/channels/none/messages", "")
	do(200, "", "POST", "/channels/http/interrupt", "")
	do(200, "", "POST", "/channels/http/interrupt", `{"turn_id":"turn-1"}`)
	do(409, "nothing_runs", "POST", "/channels/http/interrupt", `{"turn_id":"turn-0"}`)
	do(507, "outcome_not_written", "POST", "/channels/http/interrupt", `{"turn_id":"full"}`)
	do(507, "outcome_not_written", "POST", "/channels/http/interrupt", `{"turn_id":"broken"}`)
	do(400, "invalid_body", "POST", "/channels/http/interrupt", `{"turn_id":5}`)
	do(404, "not_found", "POST", "/channels/none/interrupt", "")
	documentSettings(r, do)
	do(200, "", "DELETE", "/channels/http", "")
	do(400, "bad_channel", "DELETE", "/channels/%20", "")
	do(404, "not_found", "DELETE", "/channels/none", "")
	do(400, "bad_channel", "GET", "/channels/%20/events", "")
	resp, _ := r.events(r.request("GET", "/channels/http/events", "", "Authorization", "Bearer right"))
	resp.Body.Close()
}

func documentSettings(r *rig, do doFunc) {
	do(200, "", "PATCH", "/channels/http", `{"model":"haiku","permission_mode":"plan"}`)
	do(200, "", "GET", "/channels/http", "")
	do(400, "bad_setting", "PATCH", "/channels/http", `{"permission_mode":"yolo"}`)
	do(400, "bad_setting", "PATCH", "/channels/http", `{"model":7}`)
	do(400, "bad_setting", "PATCH", "/channels/http", `{"another":7}`)
	do(400, "invalid_json", "PATCH", "/channels/http", `{`)
	do(400, "bad_channel", "PATCH", "/channels/%20", `{}`)
	r.settings["http"] = core.Settings{Rules: []core.Rule{{ID: "r-1", Channel: "http", Rule: "Bash(ls:*)", Tool: "Bash", By: "http", CreatedAt: fakeStart}}}
	do(200, "", "GET", "/channels/http/rules", "")
	do(400, "bad_channel", "GET", "/channels/%20/rules", "")
	do(404, "not_found", "GET", "/channels/none/rules", "")
	for err, want := range map[error]struct {
		status int
		code   string
	}{
		core.ErrClosed: {503, "shutting_down"}, core.ErrStorage: {503, "storage_unavailable"}, core.ErrStorageFull: {507, "storage_full"},
	} {
		r.fail(err)
		do(want.status, want.code, "PATCH", "/channels/http", `{"model":""}`)
		do(want.status, want.code, "DELETE", "/channels/http/rules/r-1", "")
	}
	r.fail(nil)
	r.settings["http"] = core.Settings{Rules: []core.Rule{{ID: "r-1"}}}
	do(200, "", "DELETE", "/channels/http/rules/r-1", "")
	do(404, "not_found", "DELETE", "/channels/http/rules/r-1", "")
	do(400, "bad_channel", "DELETE", "/channels/%20/rules/r-1", "")
}

func documentApprovals(r *rig, do doFunc) {
	r.ask("a-1", "Bash", `{"command":"ls"}`)
	do(200, "", "GET", "/approvals", "")
	do(400, "bad_behavior", "POST", "/approvals/a-1", `{}`)
	do(400, "bad_always", "POST", "/approvals/a-1", `{"behavior":"deny","always":true}`)
	do(200, "", "POST", "/approvals/a-1", `{"behavior":"allow","always":true}`)
	do(409, "not_pending", "POST", "/approvals/a-1", `{"behavior":"allow"}`)
	do(404, "not_found", "POST", "/approvals/none", `{"behavior":"allow"}`)
	r.ask("a-2", "", `{}`)
	for err, want := range map[error]struct {
		status int
		code   string
	}{
		core.ErrQueueFull: {429, "queue_full"}, core.ErrClosed: {503, "shutting_down"}, core.ErrStorage: {503, "storage_unavailable"},
		core.ErrStorageFull: {507, "storage_full"}, core.ErrBadContent: {400, "bad_content"},
	} {
		r.fail(err)
		do(want.status, want.code, "POST", "/approvals/a-2", `{"behavior":"continue"}`)
	}
	r.fail(nil)
}

func documentSend(push *core.PushRegistry, do doFunc) {
	do(400, "missing_channel", "POST", "/send", `{"text":"a"}`)
	do(404, "no_adapter", "POST", "/send", `{"channel":"tg-1","text":"a"}`)
	var err error
	push.Register("tg-", func(context.Context, core.Push) error { return err })
	do(200, "", "POST", "/send", `{"channel":"tg-1","text":"a"}`)
	err = errors.New("chat not found")
	do(502, "delivery_failed", "POST", "/send", `{"channel":"tg-1","text":"a"}`)
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{core.ErrBadContent, 400, "bad_text"}, {core.ErrNotAllowed, 403, "channel_refused"}, {core.ErrUnconfirmed, 502, "delivery_unconfirmed"},
		{core.ErrClosed, 503, "shutting_down"}, {core.ErrStorage, 503, "storage_unavailable"}, {core.ErrStorageFull, 507, "storage_full"},
		{core.ErrKeyReused, 422, "idempotency_mismatch"},
	} {
		err = c.err
		do(c.status, c.code, "POST", "/send", `{"channel":"tg-1","text":"a"}`)
	}
	err = core.ErrBadContent
	do(400, "bad_media", "POST", "/send", `{"channel":"tg-1","media":{"filePath":"/etc/shadow"}}`)
}

func documentSchedules(r *rig, do doFunc) {
	const daily = `{"channel":"http","text":"look","when":"cron 0 9 * * *","tz":"UTC","missed":"within 30m","precheck":"true","budget_usd":0.5}`
	id, _ := do(201, "", "POST", "/schedules", daily, "Idempotency-Key", "k").field(r.T, "id").(string)
	do(200, "", "POST", "/schedules", daily, "Idempotency-Key", "k")
	do(422, "idempotency_mismatch", "POST", "/schedules", `{"channel":"http","text":"look","when":"in 1h"}`, "Idempotency-Key", "k")
	do(201, "", "POST", "/schedules", `{"channel":"http","text":"look","when":"in 1h","tz":null,"more":[1]}`)
	for body, code := range map[string]string{
		`[]`: "invalid_body", `{`: "invalid_json", `{}`: "missing_channel", `{"channel":" "}`: "bad_channel",
		`{"channel":"c","text":" "}`: "missing_text", `{"channel":"c","text":"\u0000"}`: "bad_text",
		`{"channel":"c","text":"a"}`: "bad_when", `{"channel":"c","text":"a","when":1}`: "bad_when",
		`{"channel":"c","text":"a","when":"in 1h","tz":"Mars"}`:                                    "bad_tz",
		`{"channel":"c","text":"a","when":"in 1h","tz":"Local"}`:                                   "bad_tz",
		`{"channel":"c","text":"a","when":"in 1h","missed":"never"}`:                               "bad_missed",
		`{"channel":"c","text":"a","when":"in 1h","precheck":"a\u0000"}`:                           "bad_precheck",
		`{"channel":"c","text":"a","when":"in 1h","budget_usd":-1}`:                                "bad_budget",
		`{"channel":"c","text":"a","when":"in 1h","budget_usd":"1"}`:                               "bad_budget",
		`{"channel":"c","text":"a","when":"in 1h","budget_usd":1` + strings.Repeat("0", 400) + `}`: "bad_budget",
	} {
		do(400, code, "POST", "/schedules", body)
	}
	do(400, "bad_idempotency_key", "POST", "/schedules", daily, "Idempotency-Key", "ü")
	do(403, "channel_refused", "POST", "/schedules", `{"channel":"tg-8","text":"a","when":"in 1h"}`)
	do(200, "", "GET", "/schedules", "")
	r.store.decided = []schedule.Occurrence{
		{Due: fakeStart, DecidedAt: fakeStart, Outcome: schedule.Sent, Message: "01890000-0000-7000-8000-000000000001", Late: true},
		{Due: fakeStart, DecidedAt: fakeStart, Outcome: schedule.Skipped, Status: 3, Why: "Nothing to do."},
	}
	do(200, "", "GET", "/schedules/"+id, "")
	documentRuns(r, do)
	do(404, "not_found", "GET", "/schedules/none", "")
	do(404, "not_found", "DELETE", "/schedules/none", "")
	for err, want := range map[error]struct {
		status int
		code   string
	}{
		core.ErrClosed: {503, "shutting_down"}, core.ErrStorage: {503, "storage_unavailable"}, core.ErrStorageFull: {507, "storage_full"},
	} {
		r.fail(err)
		do(want.status, want.code, "POST", "/schedules", daily)
		do(want.status, want.code, "DELETE", "/schedules/"+id, "")
		do(want.status, want.code, "POST", "/schedules/heartbeat/run", `{"due":"2020-01-31T09:00:00Z"}`)
	}
	r.fail(nil)
	do(200, "", "DELETE", "/schedules/"+id, "")
	for len(r.store.jobs) < schedule.MaxJobs {
		r.store.jobs = append(r.store.jobs, schedule.Job{When: "cron @daily"})
	}
	do(409, "too_many_schedules", "POST", "/schedules", daily)
}

func documentRuns(r *rig, do doFunc) {
	const path, slot = "/schedules/heartbeat/run", `{"due":"2030-01-31T09:00:00Z"}`
	for _, body := range []string{`{}`, `{"due":"soon"}`, `{"due":"9999-01-31T09:00:00Z"}`} {
		do(400, "bad_due", "POST", path, body)
	}
	do(400, "bad_wait", "POST", path+"?wait=soon", slot)
	do(404, "not_found", "POST", "/schedules/none/run", slot)
	r.store.decided = nil
	do(200, "", "POST", path+"?wait=1ms", `{"due":"2020-01-31T09:00:00Z","more":1}`) // nothing carries the run out here
	due := time.Date(2020, 1, 31, 9, 0, 0, 0, time.UTC)
	r.store.decided = []schedule.Occurrence{{Due: due, DecidedAt: due, Outcome: schedule.Sent, Message: "01890000-0000-7000-8000-000000000001", Answer: &schedule.Answer{
		State: core.Failed, Code: "agent_error", Text: "no", CostUSD: 0.5, Duration: time.Second, Push: schedule.NotPushed, To: "tg-7", Problem: "no",
	}}}
	do(200, "", "POST", path+"?wait=1ms", `{"due":"2020-01-31T09:00:00Z"}`)
	do(200, "", "GET", "/schedules/heartbeat", "")
}

// TestPrecheckIsNotTakenOnTheSocket: the agent's own commands reach that.
func TestPrecheckIsNotTakenOnTheSocket(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	r.want(r.do(r.local, r.request("POST", "/schedules", `{"channel":"c","text":"a","when":"in 1h","precheck":"true"}`)), 403, "not_on_socket")
	r.want(r.do(r.local, r.request("POST", "/schedules", `{"channel":"c","text":"a","when":"in 1h"}`)), 201, "")
}

// TestRefusalsSayWhenToComeBack holds the headers that belong to a refusal.
func TestRefusalsSayWhenToComeBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, newFake(t), nil)
	for _, err := range []error{core.ErrQueueFull, core.ErrClosed, core.ErrStorage} {
		r.fail(err)
		if a := r.send("POST", "/message", `{"text":"a"}`); a.header.Get("Retry-After") == "" {
			t.Errorf("%v: no Retry-After: %d %s", err, a.status, a.body)
		}
	}
	r.fail(errors.New("secret detail of a fault"))
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r.request("POST", "/message", `{"text":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := make([]byte, 1000)
	n, _ := resp.Body.Read(body)
	if got := string(body[:n]); resp.StatusCode != http.StatusInternalServerError || strings.Contains(got, "secret") || !strings.Contains(got, `"code":"internal"`) {
		t.Errorf("got %d %s", resp.StatusCode, got)
	}
}
