package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/core/lanes"
	"bareclaw/core/schedule"
	"bareclaw/internal/testkit/check"
)

// goodBodies has a body for each operation that takes a body.
var goodBodies = map[string]string{
	"POST /message": `{"text":"a"}`, "POST /send": `{"channel":"tg-1","text":"a"}`, "POST /restart": `{}`, "POST /upgrade": `{"path":"/new"}`,
	"POST /channels/{key}/commands": `{"text":"/model opus"}`,
	"PATCH /channels/{key}":         `{"model":"haiku"}`, "POST /channels/{key}/interrupt": `{}`, "POST /messages/{id}/retry": `{}`,
	"POST /approvals/{id}": `{"behavior":"continue"}`, "POST /schedules": `{"channel":"http","text":"a","when":"@yearly"}`,
	"POST /channels/{key}/remove": `{}`, "POST /schedules/{id}/pause": `{}`, "POST /schedules/{id}/resume": `{}`,
	"POST /schedules/{id}/run": `{"due":"2026-01-02T03:04:05Z"}`, "POST /toolhost/call": `{"tool":"mine","args":{}}`,
	"POST /observers": `{"dir":"/","target":"http://localhost:3000"}`,
}

// TestEveryDocumentedAnswerIsGiven provokes each answer of docs/openapi.yaml. What an answer
// has beyond the document fails the test, and so does a documented answer that never came.
func TestEveryDocumentedAnswerIsGiven(t *testing.T) {
	t.Parallel()
	watched := &observed{}
	var fault error // of what is behind POST /send, /restart and /upgrade
	r := newRigOn(t, func(o *lanes.Options) { o.QueueLimit = 2 }, func(o *Options) {
		o.Push.Register("tg-", func(context.Context, core.Push) error { return fault })
		o.Mounts[1].Handler = toolHost(func() error { return fault })
		o.Observers = watched
		o.Restart = func(context.Context) error { return fault }
		o.Upgrade = func(context.Context, api.UpgradeRequest) error { return fault }
	})
	r.refusals()
	r.mcp()
	r.observers(watched)

	failed := r.send("POST", "/message", `{"text":"fail api_error","channel":"failed"}`).field(t, "message_id").(string)
	cut := r.continuable(r.send("POST", "/message", `{"text":"cut","channel":"cut"}`).field(t, "message_id").(string))
	r.must(200, "POST /approvals/"+r.asks("Bash", `{"command":"ls"}`), `{"behavior":"allow","always":true}`)
	rule := r.must(200, "GET /channels/asks/rules", "").object(t)["rules"].([]any)[0].(map[string]any)["id"].(string)
	job := r.must(201, "POST /schedules", goodBodies["POST /schedules"], "Idempotency-Key", "k").field(t, "id").(string)
	paused := r.must(201, "POST /schedules", `{"channel":"gone","text":"a","when":"@yearly"}`).field(t, "id").(string)
	r.must(200, "POST /schedules/"+paused+"/pause", "")
	r.must(200, "POST /message", `{"text":"a","channel":"gone"}`)
	r.occupy("busy")
	there := map[string]string{
		"POST /messages/{id}/retry": "/messages/" + failed + "/retry", "POST /approvals/{id}": "/approvals/" + cut,
		"DELETE /channels/{key}/rules/{id}": "/channels/asks/rules/" + rule, "DELETE /schedules/{id}": "/schedules/" + job,
		"POST /schedules/{id}/pause": "/schedules/" + job + "/pause", "POST /schedules/{id}/resume": "/schedules/" + paused + "/resume",
		"POST /channels/{key}/remove": "/channels/gone/remove",
		"POST /schedules/{id}/run":    "/schedules/heartbeat/run", "PATCH /channels/{key}": "/channels/http", "POST /channels/{key}/interrupt": "/channels/busy/interrupt",
	}
	for status, err := range map[string]error{" 503": core.ErrStorage, " 507": core.ErrStorageFull} {
		r.ledger.fail(err)
		fault = err
		for _, missing := range r.recorder.Uncovered() {
			if op, ok := strings.CutSuffix(missing, status); ok {
				method, path, _ := strings.Cut(op, " ")
				if known := there[op]; known != "" {
					path = known
				}
				if a := r.send(method, path, goodBodies[op]); !strings.HasSuffix(missing, http.StatusText(a.status)) && a.status < 500 {
					t.Errorf("%s: got %d %s", missing, a.status, a.body)
				}
			}
		}
	}
	r.ledger.fail(nil)

	r.want(r.must(404, "POST /mounts/none/test", ""), 404, "not_found")
	r.want(r.must(502, "POST /mounts/broken/test", ""), 502, "mount_failed")
	r.must(200, "POST /mounts/github/test", "")
	fault = errors.New("not now")
	r.must(502, "POST /send", goodBodies["POST /send"])
	fault = core.ErrKeyReused
	r.must(422, "POST /send", goodBodies["POST /send"])
	fault = ErrUpgrading
	r.must(409, "POST /upgrade", goodBodies["POST /upgrade"])
	fault = nil
	for _, op := range []string{
		"POST /send", "POST /restart", "POST /upgrade", "POST /toolhost/call", "POST /toolhost/reload", "POST /toolhost/shutdown", "DELETE /toolhost/tools/mine",
	} {
		r.must(200, op, goodBodies[op])
	}
	r.messages(failed, cut)
	r.must(200, "PATCH /channels/http", `{"model":"haiku"}`)
	r.must(200, "POST /channels/http/commands", `{"text":"/model opus"}`)
	r.must(200, "DELETE /channels/asks/rules/"+rule, "")
	for _, path := range []string{
		"/messages/" + failed, "/messages/" + failed + "/content", "/messages/" + failed + "/events", "/messages/" + failed + "/trace", "/upgrade", "/channels",
		"/channels/http", "/channels/http/messages", "/approvals", "/schedules", "/schedules/" + job, "/health", "/metrics", "/settings", "/openapi.yaml", "/toolhost/health", "/toolhost/tools", "/mounts",
	} {
		r.must(200, "GET "+path, "")
	}
	r.events(r.request("GET", "/channels/http/events", ""))
	r.events(r.request("GET", "/events", ""))
	r.occupy("held")
	r.must(409, "POST /channels/held/remove", "")
	r.must(200, "POST /channels/gone/remove", "")
	for _, op := range []string{"GET /messages/%s", "DELETE /messages/%s", "GET /messages/%s/content", "GET /messages/%s/events", "GET /messages/%s/trace", "POST /messages/%s/retry"} {
		r.want(r.must(409, fmt.Sprintf(op, "01"), ""), 409, "ambiguous_id")
	}
	r.must(200, "DELETE /channels/http", "")
	r.schedules(job)
	for _, missing := range r.recorder.Uncovered() {
		t.Errorf("documented, but not given: %s", missing)
	}
}

// must asks for an operation whose answer has the status.
func (r *rig) must(status int, op, body string, headers ...string) answer {
	r.Helper()
	method, path, _ := strings.Cut(op, " ")
	a := r.send(method, path, body, headers...)
	r.want(a, status, "")
	return a
}

// refusals provokes the answers to callers, bodies and names that no operation takes.
func (r *rig) refusals() {
	r.Helper()
	guarded := newRig(r.T, func(o *Options) { o.Token = "right" })
	transport := &http.Transport{}
	r.Cleanup(transport.CloseIdleConnections)
	guarded.client = r.recorder.With(transport).Client()
	for _, documented := range r.recorder.Uncovered() {
		op, status := documented[:len(documented)-4], documented[len(documented)-3:]
		method, path, _ := strings.Cut(op, " ")
		if strings.HasPrefix(path, api.PathMCP) && !slices.Contains([]string{"401", "403", "415"}, status) {
			continue // refused by the MCP server
		}
		nothing := strings.NewReplacer("{key}", "nobody", "{id}", "none").Replace(path)
		switch status {
		case "400":
			body := ""
			switch {
			case goodBodies[op] != "":
				body = `{"half`
			case strings.Contains(path, "{key}"):
				nothing = strings.NewReplacer("{key}", "%20", "{id}", "none").Replace(path)
			default:
				nothing += "?wait=never"
			}
			r.must(400, method+" "+nothing, body)
		case "401":
			guarded.must(401, method+" "+nothing, goodBodies[op])
		case "403":
			r.must(403, method+" "+nothing, goodBodies[op], "Host", "evil.example")
		case "404":
			r.must(404, method+" "+nothing, strings.NewReplacer("tg-1", "web-1", "/model", "/compact").Replace(goodBodies[op]))
		case "413":
			r.must(413, method+" "+nothing, `{"text":"`+strings.Repeat("x", 100<<10)+`"}`)
		case "415":
			r.must(415, method+" "+nothing, "text", "Content-Type", "text/plain")
		}
	}
}

// answerMCP answers as the MCP server does: with the status that the test asks for, or with
// success.
func answerMCP(w http.ResponseWriter, r *http.Request) {
	status, _ := strconv.Atoi(r.Header.Get("Test-Status"))
	switch {
	case r.Method == http.MethodDelete && status == 0:
		status = http.StatusNoContent
	case status == 0:
		status = http.StatusOK
	}
	switch {
	case status == http.StatusOK && r.Method != http.MethodPost:
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		return
	case status == http.StatusOK:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
		return
	case status >= http.StatusBadRequest:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`))
		return
	}
	w.WriteHeader(status)
}

// mcp provokes the answers of the MCP server, which pass through as they are.
func (r *rig) mcp() {
	r.Helper()
	for _, documented := range r.recorder.Uncovered() {
		op, status := documented[:len(documented)-4], documented[len(documented)-3:]
		if code, _ := strconv.Atoi(status); strings.Contains(op, " "+api.PathMCP) {
			r.must(code, op, "", "Test-Status", status)
		}
	}
}

// observers provokes the answers about observers, which pass through as they are.
func (r *rig) observers(known *observed) {
	r.Helper()
	r.must(200, "GET /observers", "")
	r.must(201, "POST /observers", goodBodies["POST /observers"])
	r.must(200, "DELETE /observers/shop", "")
	known.fault = errors.New("it does not")
	r.must(502, "POST /observers", goodBodies["POST /observers"])
	r.must(502, "DELETE /observers/shop", "")
	for _, documented := range r.recorder.Uncovered() {
		op, status := documented[:len(documented)-4], documented[len(documented)-3:]
		if code, _ := strconv.Atoi(status); strings.Contains(op, " "+api.ObserverAPI) {
			r.must(code, strings.NewReplacer("{id}", "shop", "{resource}", "metrics", "{part}", "live").Replace(op), "{}", "Test-Status", status)
		}
	}
}

// continuable waits until a person is asked whether an interrupted message is continued, and
// returns the question.
func (r *rig) continuable(message string) (approval string) {
	r.Helper()
	all, err := r.Decider.Approvals(r.Context())
	check.OK(r, err)
	for _, a := range all {
		if a.Kind == core.ApprovalContinue && string(a.Message) == message {
			return a.ID
		}
	}
	r.Fatalf("nobody is asked whether to continue: %+v", all)
	return ""
}

// messages provokes the answers that depend on the state of messages: one that failed, and
// one that was cut, with a question whether to continue.
func (r *rig) messages(failed, cut string) {
	r.Helper()
	async := []string{"Prefer", "respond-async"}
	r.must(200, "POST /message", `{"text":"a"}`, "Idempotency-Key", "k")
	r.must(422, "POST /message", `{"text":"b"}`, "Idempotency-Key", "k")
	for channel, op := range map[string]string{"failed": "POST /messages/" + failed + "/retry", "cut": "POST /approvals/" + cut} {
		r.occupy(channel)
		waiting := r.accept("a", channel)
		r.must(429, "POST /message", `{"text":"b","channel":"`+channel+`"}`)
		r.must(429, op, `{"behavior":"continue"}`)
		r.must(200, "DELETE /messages/"+waiting, "")
		r.must(409, "DELETE /messages/"+waiting, "")
		r.must(200, "POST /channels/"+channel+"/interrupt", "")
		r.must(409, "POST /channels/"+channel+"/interrupt", "")
	}
	r.must(200, "POST /approvals/"+cut, `{"behavior":"drop"}`)
	r.must(409, "POST /approvals/"+cut, `{"behavior":"drop"}`)
	r.must(202, "POST /messages/"+failed+"/retry", "", async...)
	r.must(200, "POST /messages/"+failed+"/retry", "")
	r.must(409, "POST /messages/"+r.accept("a", "http")+"/retry", "")
}

// schedules provokes the answers that depend on the schedules that exist; job was made under
// the key k.
func (r *rig) schedules(job string) {
	r.Helper()
	r.must(200, "POST /schedules", goodBodies["POST /schedules"], "Idempotency-Key", "k")
	r.must(422, "POST /schedules", `{"channel":"http","text":"b","when":"@yearly"}`, "Idempotency-Key", "k")
	r.must(200, "POST /schedules/"+job+"/pause", "")
	r.must(200, "POST /schedules/"+job[3:]+"/resume", "")
	r.must(200, "POST /schedules/"+job+"/run", `{"due":"2026-01-02T03:04:05Z"}`)
	r.must(200, "DELETE /schedules/"+job, "")
	r.must(200, "POST /schedules/heartbeat/run", goodBodies["POST /schedules/{id}/run"])
	var full sync.WaitGroup // all are written in a few syncs
	for n := range schedule.MaxJobs {
		full.Go(func() {
			if err := r.ledger.AddJob(r.Context(), schedule.Job{ID: strconv.Itoa(n), Channel: "c", When: "@yearly"}); err != nil {
				r.Error(err)
			}
		})
	}
	full.Wait()
	for _, op := range []string{"GET /schedules/00", "DELETE /schedules/00", "POST /schedules/00/run", "POST /schedules/00/pause", "POST /schedules/00/resume"} {
		r.want(r.must(409, op, goodBodies["POST /schedules/{id}/run"]), 409, "ambiguous_id")
	}
	r.must(409, "POST /schedules", goodBodies["POST /schedules"])
}
