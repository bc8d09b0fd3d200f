package http

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bareclaw/core/schedule"
	"bareclaw/docs"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/openapi"
)

// TestEveryDocumentedAnswerIsGiven provokes each answer of docs/openapi.yaml from
// running daemons and holds it against the document. What an answer has beyond
// the document fails the test, and so does a documented answer that never came.
func TestEveryDocumentedAnswerIsGiven(t *testing.T) {
	t.Parallel()
	recorder := openapi.New(t, docs.OpenAPI(), &http.Transport{ExpectContinueTimeout: harness.Patience})
	full := false
	t.Run("provoke", func(t *testing.T) {
		for name, provoke := range map[string]func(t *testing.T){
			"at work":      func(t *testing.T) { provokeAtWork(t, recorder) },
			"unauthorized": func(t *testing.T) { provokeUnauthorized(t, recorder) },
			"restart":      func(t *testing.T) { provokeRestart(t, recorder) },
			"pushes":       func(t *testing.T) { provokePushes(t, recorder) },
			"locked":       func(t *testing.T) { provokeLockedLedger(t, recorder) },
			"upgrade":      func(t *testing.T) { provokeUpgrade(t, recorder) },
			"full disk":    func(t *testing.T) { full = provokeFullDisk(t, recorder) },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				provoke(t)
			})
		}
	})
	for _, missing := range recorder.Uncovered() {
		if strings.HasSuffix(missing, " 507") && !full {
			t.Logf("NOT TESTED: %s: mounting a small disk takes root", missing)
			continue
		}
		t.Errorf("documented, but not given: %s", missing)
	}
}

// through is the same gateway with all its answers checked.
func through(g *harness.Gateway, r *openapi.Recorder) *harness.Gateway {
	checked := *g
	checked.HTTP = &http.Client{Transport: r, Timeout: harness.HeldPatience}
	return &checked
}

func provokeAtWork(t *testing.T, r *openapi.Recorder) {
	t.Helper()
	g := through(harness.NewMachine(t, "BARECLAW_APPROVALS=ask", "BARECLAW_QUEUE_LIMIT=2", "BARECLAW_BODY_LIMIT=64KiB").Start(), r)
	provokeMessages(g)
	provokeChannels(g)
	provokeApprovals(g)
	provokeSchedules(g)
	provokeGateway(g)
	provokeBodies(g)
	provokeForeigners(g, r)
	g.Balanced()
}

func provokeMessages(g *harness.Gateway) {
	g.T.Helper()
	g.Say("http", "echo one")
	g.Stream("POST", "/message", harness.Obj{"text": "events 3"}).Want("result")
	id := g.Tell("http", "echo later")
	g.Outcome(id)
	g.Must("GET", "/messages/"+id+"/trace", nil, 200)
	g.Must("GET", "/messages/"+id+"/content", nil, 200)
	g.Must("GET", "/messages/"+id+"?wait=never", nil, 400)
	g.Stream("GET", "/messages/"+id+"/events", nil).Want("result")
	for _, path := range []string{"/messages/none", "/messages/none/content", "/messages/none/events", "/messages/none/trace"} {
		g.Must("GET", path, nil, 404)
	}
	g.Must("DELETE", "/messages/none", nil, 404)
	g.Must("DELETE", "/messages/"+id, nil, 409)
	g.Must("POST", "/messages/none/retry", nil, 404)
	g.Must("POST", "/messages/"+id+"/retry", nil, 409)
	for _, text := range []string{"one", "two"} {
		want := map[string]int{"one": 200, "two": 422}[text]
		if a, err := g.Do("POST", "/message", harness.Obj{"text": "echo " + text}, "Idempotency-Key", "k"); err != nil || a.Status != want {
			g.T.Errorf("keyed message: %v, status %d, want %d", err, a.Status, want)
		}
	}
	// With a turn that runs: queued, refused, cancelled, failed.
	running, finish := g.Occupy("queue")
	s := g.Stream("POST", "/message", harness.Obj{"channel": "queue", "text": "apierror 529"})
	waiting := s.Want("queued").Str("message_id")
	g.Must("GET", "/messages/"+waiting+"?wait=1ms", nil, 200)
	g.Must("GET", "/messages/"+waiting+"/trace", nil, 200)
	g.Must("POST", "/message", harness.Obj{"channel": "queue", "text": "too many"}, 429)
	g.Must("GET", "/messages/"+running+"/trace", nil, 200)
	finish()
	failed := s.Want("result").Str("message_id")
	g.Must("POST", "/messages/"+failed+"/retry", nil, 200)
	g.Stream("POST", "/messages/"+failed+"/retry", nil).Want("result")
	failed = g.Say("queue", "apierror 529").Str("message_id")
	running, finish = g.Occupy("queue")
	waiting = g.Tell("queue", "echo in the way")
	g.Must("POST", "/messages/"+failed+"/retry", nil, 429)
	g.Must("DELETE", "/messages/"+waiting, nil, 200)
	if a, err := g.Do("POST", "/messages/"+failed+"/retry", nil, "Prefer", "respond-async"); err != nil || a.Status != 202 {
		g.T.Errorf("retry: %v, status %d, want 202", err, a.Status)
	}
	finish()
	g.Outcome(running)
	running, finish = g.Occupy("queue")
	waiting = g.Tell("queue", "echo never")
	g.Must("DELETE", "/messages/"+waiting, nil, 200)
	finish()
	g.Outcome(running)
}

func provokeChannels(g *harness.Gateway) {
	g.T.Helper()
	g.Must("GET", "/channels", nil, 200)
	g.Must("GET", "/channels/queue", nil, 200)
	g.Must("GET", "/channels/queue/messages?limit=1", nil, 200)
	g.Must("GET", "/channels/queue/messages?limit=none", nil, 400)
	for _, path := range []string{"/channels/nobody", "/channels/nobody/messages", "/channels/nobody/rules"} {
		g.Must("GET", path, nil, 404)
	}
	for _, path := range []string{"/channels/%20", "/channels/%20/messages", "/channels/%20/events"} {
		g.Must("GET", path, nil, 400)
	}
	watch := g.Stream("GET", "/channels/queue/events", nil)
	first := g.Must("POST", "/message", harness.Obj{"channel": "queue", "text": "background 1 done"}, 200)
	watch.Want("background")
	g.Must("GET", "/channels/queue/messages?before="+first.Str("message_id"), nil, 200)
	watch.Close()
	id, _ := g.Occupy("queue")
	g.Must("GET", "/channels/queue", nil, 200)
	interrupt(g, "queue", 200)
	g.Outcome(id)
	interrupt(g, "queue", 409)
	interrupt(g, "nobody", 404)
	interrupt(g, " ", 400)
	g.Must("PATCH", "/channels/queue", harness.Obj{"model": "haiku"}, 200)
	g.Must("PATCH", "/channels/queue", harness.Obj{"permission_mode": "yolo"}, 400)
	g.Must("DELETE", "/channels/queue", nil, 200)
	g.Must("DELETE", "/channels/nobody", nil, 404)
	g.Must("DELETE", "/channels/%20", nil, 400)
}

func provokeApprovals(g *harness.Gateway) {
	g.T.Helper()
	s := g.Stream("POST", "/message", harness.Obj{"channel": "asks", "text": "tool 0 ask ls"})
	id := s.Want("approval").Str("id")
	g.Must("GET", "/approvals", nil, 200)
	g.Must("POST", "/approvals/"+id, harness.Obj{"behavior": "perhaps"}, 400)
	g.Must("POST", "/approvals/"+id, harness.Obj{"behavior": "deny", "message": "no"}, 200)
	g.Must("POST", "/approvals/"+id, harness.Obj{"behavior": "allow"}, 409)
	g.Must("POST", "/approvals/none", harness.Obj{"behavior": "allow"}, 404)
	s.Want("approval_closed")
	message := s.Want("result").Str("message_id")
	g.Must("GET", "/messages/"+message+"/trace", nil, 200)
	s = g.Stream("POST", "/message", harness.Obj{"channel": "asks", "text": "tool 0 ask ls"})
	id = s.Want("approval").Str("id")
	g.Must("POST", "/approvals/"+id, harness.Obj{"behavior": "allow", "always": true}, 200)
	s.Want("result")
	g.Must("GET", "/channels/%20/rules", nil, 400)
	rule := g.Must("GET", "/channels/asks/rules", nil, 200).Array("rules")[0].Str("id")
	g.Must("DELETE", "/channels/asks/rules/"+rule, nil, 200)
	g.Must("DELETE", "/channels/asks/rules/"+rule, nil, 404)
	g.Must("DELETE", "/channels/%20/rules/"+rule, nil, 400)
	id = cut(g, "cut", "")
	running, finish := g.Occupy("cut")
	waiting := g.Tell("cut", "echo in the way")
	g.Must("POST", "/approvals/"+id, harness.Obj{"behavior": "continue"}, 429)
	g.Must("POST", "/approvals/"+id, harness.Obj{"behavior": "drop"}, 200)
	finish()
	g.Outcome(running)
	g.Outcome(waiting)
}

// cut has a turn begin a tool and kills its claude. It returns the approval that asks
// whether the turn is gone on with.
func cut(g *harness.Gateway, channel, more string) (approval string) {
	g.T.Helper()
	id := g.Tell(channel, "toolwait "+g.Path("never")+more)
	g.Eventually("the tool runs", func() bool { return g.Did("tool", "never") })
	h := g.Hosts()[channel]
	if err := proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL); err != nil {
		g.T.Fatal(err)
	}
	g.Outcome(id)
	for _, a := range g.Must("GET", "/approvals", nil, 200).Array("approvals") {
		if a.Str("message_id") == id {
			return a.Str("id")
		}
	}
	g.T.Fatal("nobody is asked whether the turn is gone on with")
	return ""
}

// permission waits until a channel's turn asks for one.
func permission(g *harness.Gateway, channel string) (approval string) {
	g.T.Helper()
	g.Eventually("a permission is asked for", func() bool {
		for _, a := range g.Must("GET", "/approvals", nil, 200).Array("approvals") {
			if a.Str("channel") == channel && a.Str("kind") == "tool" {
				approval = a.Str("id")
			}
		}
		return approval != ""
	})
	return approval
}

func provokeGateway(g *harness.Gateway) {
	g.T.Helper()
	for _, path := range []string{"/health", "/metrics", "/openapi.yaml"} {
		g.Must("GET", path, nil, 200)
	}
	g.Must("POST", "/send", harness.Obj{"channel": "tg-1", "text": "hi"}, 404)
	g.Must("POST", "/send", harness.Obj{"channel": "tg-1"}, 400)
	g.Must("GET", "/upgrade", nil, 200)
	g.Must("POST", "/upgrade", harness.Obj{"path": "relative"}, 400)
	g.Must("POST", "/upgrade", harness.Obj{"path": g.Path("none")}, 503)
	g.Must("GET", "/nothing", nil, 404)
	g.Must("PUT", "/message", nil, 405)
}

// provokeBodies sends bodies that no route with a body takes.
func provokeBodies(g *harness.Gateway) {
	g.T.Helper()
	for _, path := range []string{"/message", "/send", "/restart", "/upgrade", "/approvals/none", "/channels/http/interrupt", "/messages/none/retry", "/schedules", "/schedules/heartbeat/run"} {
		g.Must("POST", path, `{"half`, 400)
		g.Must("POST", path, `{"text": "`+strings.Repeat("x", 100<<10)+`"}`, 413)
		if a, err := g.Do("POST", path, `text`, "Content-Type", "text/plain"); err != nil || a.Status != 415 {
			g.T.Errorf("%s: plain text: %v, status %d", path, err, a.Status)
		}
	}
	g.Must("PATCH", "/channels/http", `{"model": "`+strings.Repeat("x", 100<<10)+`"}`, 413)
	if a, err := g.Do("PATCH", "/channels/http", `text`, "Content-Type", "text/plain"); err != nil || a.Status != 415 {
		g.T.Errorf("settings as plain text: %v, status %d", err, a.Status)
	}
}

// operations calls f with every documented operation, on paths that exist in form.
func operations(r *openapi.Recorder, f func(method, path string)) {
	for _, op := range r.Operations() {
		method, path, _ := strings.Cut(op, " ")
		f(method, strings.NewReplacer("{id}", "none", "{key}", "http").Replace(path))
	}
}

func provokeForeigners(g *harness.Gateway, r *openapi.Recorder) {
	g.T.Helper()
	operations(r, func(method, path string) {
		foreign(g, method, path, "Host", "evil.example").Refused(g.T, method+" "+path, 403, "foreign_host")
	})
	g.Must("GET", "/health", nil, 200)
}

func provokeUnauthorized(t *testing.T, r *openapi.Recorder) {
	t.Helper()
	g := through(harness.NewMachine(t, "BARECLAW_HTTP_TOKEN="+harness.Token).Start(), r)
	operations(r, func(method, path string) {
		foreign(g, method, path).Refused(t, method+" "+path, 401, "unauthorized")
	})
}

// heartbeatDue is the body of a request for the run of the heartbeat that is due now.
func heartbeatDue() harness.Obj { return harness.Obj{"due": time.Now().Format(time.RFC3339)} }

func provokeSchedules(g *harness.Gateway) {
	g.T.Helper()
	body := harness.Obj{"channel": "c", "text": "echo later", "when": "@yearly"}
	for _, want := range []int{201, 200, 422} {
		if want == 422 {
			body["text"] = "echo other"
		}
		if a, err := g.Do("POST", "/schedules", body, "Idempotency-Key", "job"); err != nil || a.Status != want {
			g.T.Errorf("keyed schedule: %v, status %d, want %d", err, a.Status, want)
		}
	}
	g.Must("POST", "/schedules", harness.Obj{"channel": "c", "text": "a", "when": "soon"}, 400)
	id := g.Schedule("c", "echo now", "in 1s")
	g.Occurred(id)
	g.Must("GET", "/schedules", nil, 200)
	g.Must("DELETE", "/schedules/"+id, nil, 200)
	g.Must("GET", "/schedules/"+id, nil, 404)
	g.Must("DELETE", "/schedules/"+id, nil, 404)
	g.Must("POST", "/schedules/heartbeat/run", heartbeatDue(), 200)
	g.Must("POST", "/schedules/none/run", heartbeatDue(), 404)
	fillSchedules(g, schedule.MaxJobs-1)
	g.Must("POST", "/schedules", harness.Obj{"channel": "c", "text": "a", "when": "in 1h"}, 409)
}

// fillSchedules adds schedules that are due once a year.
func fillSchedules(g *harness.Gateway, n int) {
	g.T.Helper()
	db := g.LedgerFile()
	defer func() { _ = db.Close() }()
	_, err := db.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<?1)
		INSERT INTO schedules(id, channel, decided_to, done_at, doc)
		SELECT 'n'||i, 'c', ?2, 0, json_object('text', 'echo later', 'when', 'cron @yearly', 'missed', 'skip', 'created_at', ?2) FROM n`,
		n, time.Now().UnixNano())
	if err != nil {
		g.T.Fatal(err)
	}
}

// provokePushes pushes through a bot that knows Anna, and no one else.
func provokePushes(t *testing.T, r *openapi.Recorder) {
	t.Helper()
	p := harness.NewPushTest(t)
	p.Gateway = through(p.Gateway, r)
	g := p.Gateway
	for text, want := range map[string]int{"one": 200, "another": 422} {
		first, err := g.Do("POST", "/send", harness.Obj{"channel": "tg-7", "text": "one"}, "Idempotency-Key", "k")
		if err != nil || first.Status != 200 {
			t.Fatalf("the first push: %v, status %d", err, first.Status)
		}
		if a, err := g.Do("POST", "/send", harness.Obj{"channel": "tg-7", "text": text}, "Idempotency-Key", "k"); err != nil || a.Status != want {
			t.Errorf("%q under the same key: %v, status %d, want %d", text, err, a.Status, want)
		}
	}
	g.Must("POST", "/send", harness.Obj{"channel": "tg-8", "text": "hi"}).Refused(t, "a push to a stranger", 403, "channel_refused")
	g.Must("POST", "/send", harness.Obj{"channel": "tg-7", "media": harness.Obj{"filePath": "none.png"}}).Refused(t, "a file that is not there", 400, "bad_media")
	g.Must("POST", "/send", harness.Obj{"channel": "web-1", "text": "hi"}).Refused(t, "a push to no adapter", 404, "no_adapter")
	p.Chat.Block()
	g.Must("POST", "/send", harness.Obj{"channel": "tg-7", "text": "hi"}).Refused(t, "a push to one who has blocked the bot", 502, "delivery_failed")
	p.Chat.Unblock()
	held := p.API.HoldAnswer("sendMessage", 7)
	defer held.Release()
	first := p.Post(t.Context(), harness.Obj{"channel": "tg-7", "text": "first"})
	p.API.Await(t, "the first", held.Reached)
	second := p.Post(t.Context(), harness.Obj{"channel": "tg-7", "text": "second"})
	p.Eventually("the second is on record", func() bool { return p.Pushes("pending") == 2 })
	p.Signal(syscall.SIGTERM)
	p.WantStatus(first, 502).Refused(t, "the one under way", 502, "delivery_unconfirmed")
	p.WantStatus(second, 503).Refused(t, "the one that waits", 503, "shutting_down")
}

// provokeLockedLedger has another program keep the ledger locked while everything is asked
// that has to be written down.
func provokeLockedLedger(t *testing.T, r *openapi.Recorder) {
	t.Helper()
	m, _, _, _ := harness.NewChat(t, "BARECLAW_APPROVALS=ask")
	g := through(m.Start(), r)
	job := g.Schedule("c", "echo later", "in 1h")
	failed := g.Say("http", "apierror 529").Str("message_id")
	cut := cut(g, "cut", "")
	asked := g.Tell("asks", "tool 0 ask ls")
	g.Must("POST", "/approvals/"+permission(g, "asks"), harness.Obj{"behavior": "allow", "always": true}, 200)
	g.Outcome(asked)
	rule := g.Must("GET", "/channels/asks/rules", nil, 200).Array("rules")[0].Str("id")

	unlock := lockLedger(m)
	var wg sync.WaitGroup
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"POST", "/message", harness.Obj{"text": "echo never"}},
		{"POST", "/messages/" + failed + "/retry", nil},
		{"POST", "/approvals/" + cut, harness.Obj{"behavior": "continue"}},
		{"POST", "/send", harness.Obj{"channel": "tg-7", "text": "never"}},
		{"PATCH", "/channels/http", harness.Obj{"model": "haiku"}},
		{"DELETE", "/channels/asks/rules/" + rule, nil},
		{"POST", "/schedules", harness.Obj{"channel": "c", "text": "never", "when": "in 1h"}},
		{"DELETE", "/schedules/" + job, nil},
		{"POST", "/schedules/heartbeat/run", heartbeatDue()},
	} {
		wg.Go(func() {
			a, err := g.Do(c.method, c.path, c.body)
			if err != nil {
				t.Errorf("%s %s: %v", c.method, c.path, err)
				return
			}
			a.Refused(t, c.method+" "+c.path, 503, "storage_unavailable")
		})
	}
	wg.Wait()
	unlock()
	g.Say("http", "echo open again").Want(t, "open again")
	g.Must("GET", "/schedules/"+job, nil, 200)
	if n := g.Balanced(); n != 4 {
		t.Errorf("%d messages accepted, want 4", n)
	}
}

// lockLedger keeps everybody else from writing to the ledger until unlock is called.
func lockLedger(m *harness.Machine) (unlock func()) {
	m.T.Helper()
	db := m.LedgerFile()
	c, err := db.Conn(m.T.Context())
	if err == nil {
		_, err = c.ExecContext(m.T.Context(), "BEGIN IMMEDIATE")
	}
	if err != nil {
		m.T.Fatal(err)
	}
	return func() {
		if _, err := c.ExecContext(m.T.Context(), "ROLLBACK"); err != nil {
			m.T.Error(err)
		}
		_ = c.Close()
		_ = db.Close()
	}
}

// provokeRestart restarts a daemon, and asks one that is ending already.
func provokeRestart(t *testing.T, r *openapi.Recorder) {
	t.Helper()
	g := through(harness.NewMachine(t).Start(), r)
	before := g.Must("GET", "/health", nil, 200).Number("generation")
	g.Must("POST", "/restart", nil, 200)
	g.Restarted(before)
	// A busy machine may take longer than the daemon waits; then another is asked.
	for deadline := time.Now().Add(harness.Patience); ; g = through(harness.NewMachine(t).Start(), r) {
		err := restartWhileEnding(g)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func provokeUpgrade(t *testing.T, r *openapi.Recorder) {
	t.Helper()
	m := harness.NewMachine(t)
	m.Install("v1", "1h")
	g := through(m.Start(), r)
	g.Must("POST", "/upgrade", harness.Obj{"path": harness.ReleaseOf(t, "v2"), "channel": "http"}, 200)
	g.Serves("v2")
	g.Must("GET", "/upgrade", nil, 200)
	g.Must("POST", "/upgrade", harness.Obj{"rollback": true}, 409)
	g.Signal(syscall.SIGTERM)
}

// A lateBody is the body of a request that is sent when the gateway asks for it,
// and only once it may.
type lateBody struct {
	asked, may chan struct{}
	text       io.Reader
}

func (b *lateBody) Read(p []byte) (int, error) {
	select {
	case <-b.asked:
	default:
		close(b.asked)
	}
	<-b.may
	return b.text.Read(p)
}

// restartWhileEnding has the daemon get a whole request when it is ending.
func restartWhileEnding(g *harness.Gateway) error {
	g.T.Helper()
	watch := g.Stream("GET", "/channels/http/events", nil)
	body := &lateBody{asked: make(chan struct{}), may: make(chan struct{}), text: strings.NewReader("{}")}
	req, err := http.NewRequest(http.MethodPost, g.Base+"/restart", body)
	if err != nil {
		g.T.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Expect", "100-continue")
	type reply struct {
		a   harness.Answer
		err error
	}
	done := make(chan reply, 1)
	go func() { // ends with the daemon, at the latest
		a, err := g.Send(req)
		done <- reply{a, err}
	}()
	select {
	case <-body.asked:
	case r := <-done:
		g.T.Fatalf("answered before its body came: %v, %s", r.err, r.a.Body)
	}
	if err := g.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		g.T.Fatal(err)
	}
	watch.Want("shutdown")
	close(body.may)
	r := <-done
	if r.err != nil {
		return fmt.Errorf("POST /restart of a daemon that ends: %w", r.err)
	}
	r.a.Refused(g.T, "restart of a daemon that ends", 503, "shutting_down")
	return nil
}

// provokeFullDisk reports whether a disk could be filled.
func provokeFullDisk(t *testing.T, r *openapi.Recorder) bool {
	t.Helper()
	m, _, _, _ := harness.NewChat(t, "BARECLAW_APPROVALS=ask")
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", m.Path("state")).Run(); err != nil {
		return false
	}
	t.Cleanup(func() {
		m.EndHosts()
		if err := exec.Command("umount", "-l", m.Path("state")).Run(); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	g := through(m.Start(), r)
	defer keepLog(g.Machine)()
	job := g.Schedule("c", "echo later", "in 1h")
	failed := g.Say("http", "apierror 529\n"+strings.Repeat("x", 100<<10)).Str("message_id")
	cut := cut(g, "cut", "\n"+strings.Repeat("x", 100<<10))
	asked := g.Tell("asks", "tool 0 ask ls")
	g.Must("POST", "/approvals/"+permission(g, "asks"), harness.Obj{"behavior": "allow", "always": true}, 200)
	g.Outcome(asked)
	rule := g.Must("GET", "/channels/asks/rules", nil, 200).Array("rules")[0].Str("id")
	runs, _ := g.Occupy("runs")
	if err := os.WriteFile(m.Path("state/filler"), bytes.Repeat([]byte("x"), 4<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk does not get full: %v", err)
	}
	g.Must("POST", "/message", harness.Obj{"text": "echo no room " + strings.Repeat("x", 100<<10)}, 507)
	g.Must("POST", "/messages/"+failed+"/retry", nil, 507)
	g.Must("POST", "/approvals/"+cut, harness.Obj{"behavior": "continue"}, 507)
	g.Must("DELETE", "/channels/asks/rules/"+rule, nil, 507)
	g.Must("PATCH", "/channels/http", harness.Obj{"model": "haiku"}, 507)
	g.Must("POST", "/schedules", harness.Obj{"channel": "c", "text": strings.Repeat("x", 30<<10), "when": "in 1h"}, 507)
	g.Must("DELETE", "/schedules/"+job, nil, 507)
	g.Must("POST", "/schedules/heartbeat/run", heartbeatDue(), 507)
	g.Must("POST", "/send", harness.Obj{"channel": "tg-7", "text": strings.Repeat("x", 100<<10)}, 507)
	g.Must("POST", "/channels/runs/interrupt", nil, 507)
	if err := os.Remove(m.Path("state/filler")); err != nil {
		t.Fatal(err)
	}
	g.Say("http", "echo room again").Want(t, "room again")
	if a := g.Outcome(runs); a.Str("code") != "interrupted" {
		t.Errorf("the interrupted message ends as %s", a.Body)
	}
	if n := g.Balanced(); n != 5 {
		t.Errorf("%d messages accepted, want 5", n)
	}
	g.Signal(syscall.SIGINT)
	return true
}

// keepLog has the ledger's log not begin anew until the returned function is called: there
// would be room in it on a full disk. It reads the ledger as it is now for so long.
func keepLog(m *harness.Machine) (end func()) {
	m.T.Helper()
	db := m.LedgerFile()
	now, err := db.Begin()
	if err == nil {
		var n int
		err = now.QueryRow(`SELECT count(*) FROM messages`).Scan(&n)
	}
	if err != nil {
		m.T.Fatal(err)
	}
	return func() {
		_ = now.Rollback() // it has written nothing
		_ = db.Close()
	}
}

// A witness notes failures instead of failing.
type witness struct {
	testing.TB
	failures []string
}

func (w *witness) Helper() {}

func (w *witness) Errorf(format string, args ...any) {
	w.failures = append(w.failures, fmt.Sprintf(format, args...))
}

func TestUndocumentedAnswersFail(t *testing.T) {
	t.Parallel()
	g := harness.NewMachine(t).Start()
	for what, row := range map[string]struct {
		old, new string // what the document loses
		request  func(g *harness.Gateway)
		want     string
	}{
		"status": {`        "409":
          description: "` + "`not_waiting`" + `: it runs or has its outcome"`, `        "499":
          description: another`, func(g *harness.Gateway) {
			g.Must("DELETE", "/messages/"+g.Say("http", "echo hi").Str("message_id"), nil, 409)
		}, "status is not documented"},
		"route":  {"  /openapi.yaml:\n", "  /another.yaml:\n", func(g *harness.Gateway) { g.Must("GET", "/openapi.yaml", nil, 200) }, "route is not documented"},
		"member": {"        uptime_ms: {type: integer, minimum: 0}\n", "", func(g *harness.Gateway) { g.Must("GET", "/health", nil, 200) }, "uptime_ms"},
		"event": {"                result: Outcome\n", "", func(g *harness.Gateway) {
			g.Stream("POST", "/message", harness.Obj{"text": "echo hi"}).Want("result")
		}, `event "result" is not documented`},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			doc := strings.ReplaceAll(string(docs.OpenAPI()), row.old, row.new)
			if doc == string(docs.OpenAPI()) {
				t.Fatalf("the document does not have %q", row.old)
			}
			w := &witness{TB: t}
			row.request(through(g, openapi.New(w, []byte(doc), nil)))
			if !slices.ContainsFunc(w.failures, func(f string) bool { return strings.Contains(f, row.want) }) {
				t.Errorf("failures are %q, want %q among them", w.failures, row.want)
			}
		})
	}
}
