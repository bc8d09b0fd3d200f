package e2e

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
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/openapi"
)

// TestEveryDocumentedAnswerIsGiven provokes each answer of docs/openapi.yaml from
// running daemons and holds it against the document. What an answer has beyond
// the document fails the test, and so does a documented answer that never came.
func TestEveryDocumentedAnswerIsGiven(t *testing.T) {
	t.Parallel()
	recorder := openapi.New(t, docs.OpenAPI(), &http.Transport{ExpectContinueTimeout: patience})
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
func (g *gateway) through(r *openapi.Recorder) *gateway {
	checked := *g
	checked.http = &http.Client{Transport: r, Timeout: heldPatience}
	return &checked
}

func provokeAtWork(t *testing.T, r *openapi.Recorder) {
	t.Helper()
	g := newMachine(t, "BARECLAW_APPROVALS=ask", "BARECLAW_QUEUE_LIMIT=2", "BARECLAW_BODY_LIMIT=64KiB").start().through(r)
	provokeMessages(g)
	provokeChannels(g)
	provokeApprovals(g)
	provokeSchedules(g)
	provokeGateway(g)
	provokeBodies(g)
	provokeForeigners(g, r)
	g.balanced()
}

func provokeMessages(g *gateway) {
	g.t.Helper()
	g.say("http", "echo one")
	g.stream("POST", "/message", obj{"text": "events 3"}).want("result")
	id := g.tell("http", "echo later")
	g.outcome(id)
	g.must("GET", "/messages/"+id+"/trace", nil, 200)
	g.must("GET", "/messages/"+id+"/content", nil, 200)
	g.must("GET", "/messages/"+id+"?wait=never", nil, 400)
	g.stream("GET", "/messages/"+id+"/events", nil).want("result")
	for _, path := range []string{"/messages/none", "/messages/none/content", "/messages/none/events", "/messages/none/trace"} {
		g.must("GET", path, nil, 404)
	}
	g.must("DELETE", "/messages/none", nil, 404)
	g.must("DELETE", "/messages/"+id, nil, 409)
	g.must("POST", "/messages/none/retry", nil, 404)
	g.must("POST", "/messages/"+id+"/retry", nil, 409)
	for _, text := range []string{"one", "two"} {
		want := map[string]int{"one": 200, "two": 422}[text]
		if a, err := g.do("POST", "/message", obj{"text": "echo " + text}, "Idempotency-Key", "k"); err != nil || a.status != want {
			g.t.Errorf("keyed message: %v, status %d, want %d", err, a.status, want)
		}
	}
	// With a turn that runs: queued, refused, cancelled, failed.
	running, finish := g.occupy("queue")
	s := g.stream("POST", "/message", obj{"channel": "queue", "text": "apierror 529"})
	waiting := s.want("queued").str("message_id")
	g.must("GET", "/messages/"+waiting+"?wait=1ms", nil, 200)
	g.must("GET", "/messages/"+waiting+"/trace", nil, 200)
	g.must("POST", "/message", obj{"channel": "queue", "text": "too many"}, 429)
	g.must("GET", "/messages/"+running+"/trace", nil, 200)
	finish()
	failed := s.want("result").str("message_id")
	g.must("POST", "/messages/"+failed+"/retry", nil, 200)
	g.stream("POST", "/messages/"+failed+"/retry", nil).want("result")
	failed = g.say("queue", "apierror 529").str("message_id")
	running, finish = g.occupy("queue")
	waiting = g.tell("queue", "echo in the way")
	g.must("POST", "/messages/"+failed+"/retry", nil, 429)
	g.must("DELETE", "/messages/"+waiting, nil, 200)
	if a, err := g.do("POST", "/messages/"+failed+"/retry", nil, "Prefer", "respond-async"); err != nil || a.status != 202 {
		g.t.Errorf("retry: %v, status %d, want 202", err, a.status)
	}
	finish()
	g.outcome(running)
	running, finish = g.occupy("queue")
	waiting = g.tell("queue", "echo never")
	g.must("DELETE", "/messages/"+waiting, nil, 200)
	finish()
	g.outcome(running)
}

func provokeChannels(g *gateway) {
	g.t.Helper()
	g.must("GET", "/channels", nil, 200)
	g.must("GET", "/channels/queue", nil, 200)
	g.must("GET", "/channels/queue/messages?limit=1", nil, 200)
	g.must("GET", "/channels/queue/messages?limit=none", nil, 400)
	for _, path := range []string{"/channels/nobody", "/channels/nobody/messages", "/channels/nobody/rules"} {
		g.must("GET", path, nil, 404)
	}
	for _, path := range []string{"/channels/%20", "/channels/%20/messages", "/channels/%20/events"} {
		g.must("GET", path, nil, 400)
	}
	watch := g.stream("GET", "/channels/queue/events", nil)
	first := g.must("POST", "/message", obj{"channel": "queue", "text": "background 1 done"}, 200)
	watch.want("background")
	g.must("GET", "/channels/queue/messages?before="+first.str("message_id"), nil, 200)
	watch.close()
	id, _ := g.occupy("queue")
	g.must("GET", "/channels/queue", nil, 200)
	g.interrupt("queue", 200)
	g.outcome(id)
	g.interrupt("queue", 409)
	g.interrupt("nobody", 404)
	g.interrupt(" ", 400)
	g.must("PATCH", "/channels/queue", obj{"model": "haiku"}, 200)
	g.must("PATCH", "/channels/queue", obj{"permission_mode": "yolo"}, 400)
	g.must("DELETE", "/channels/queue", nil, 200)
	g.must("DELETE", "/channels/nobody", nil, 404)
	g.must("DELETE", "/channels/%20", nil, 400)
}

func provokeApprovals(g *gateway) {
	g.t.Helper()
	s := g.stream("POST", "/message", obj{"channel": "asks", "text": "tool 0 ask ls"})
	id := s.want("approval").str("id")
	g.must("GET", "/approvals", nil, 200)
	g.must("POST", "/approvals/"+id, obj{"behavior": "perhaps"}, 400)
	g.must("POST", "/approvals/"+id, obj{"behavior": "deny", "message": "no"}, 200)
	g.must("POST", "/approvals/"+id, obj{"behavior": "allow"}, 409)
	g.must("POST", "/approvals/none", obj{"behavior": "allow"}, 404)
	s.want("approval_closed")
	message := s.want("result").str("message_id")
	g.must("GET", "/messages/"+message+"/trace", nil, 200)
	s = g.stream("POST", "/message", obj{"channel": "asks", "text": "tool 0 ask ls"})
	id = s.want("approval").str("id")
	g.must("POST", "/approvals/"+id, obj{"behavior": "allow", "always": true}, 200)
	s.want("result")
	g.must("GET", "/channels/%20/rules", nil, 400)
	rule := g.must("GET", "/channels/asks/rules", nil, 200).array("rules")[0].str("id")
	g.must("DELETE", "/channels/asks/rules/"+rule, nil, 200)
	g.must("DELETE", "/channels/asks/rules/"+rule, nil, 404)
	g.must("DELETE", "/channels/%20/rules/"+rule, nil, 400)
	id = g.cut("cut", "")
	running, finish := g.occupy("cut")
	waiting := g.tell("cut", "echo in the way")
	g.must("POST", "/approvals/"+id, obj{"behavior": "continue"}, 429)
	g.must("POST", "/approvals/"+id, obj{"behavior": "drop"}, 200)
	finish()
	g.outcome(running)
	g.outcome(waiting)
}

// cut has a turn begin a tool and kills its claude. It returns the approval that asks
// whether the turn is gone on with.
func (g *gateway) cut(channel, more string) (approval string) {
	g.t.Helper()
	id := g.tell(channel, "toolwait "+g.path("never")+more)
	g.eventually("the tool runs", func() bool { return g.did("tool", "never") })
	h := g.hosts()[channel]
	if err := proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL); err != nil {
		g.t.Fatal(err)
	}
	g.outcome(id)
	for _, a := range g.must("GET", "/approvals", nil, 200).array("approvals") {
		if a.str("message_id") == id {
			return a.str("id")
		}
	}
	g.t.Fatal("nobody is asked whether the turn is gone on with")
	return ""
}

// permission waits until a channel's turn asks for one.
func (g *gateway) permission(channel string) (approval string) {
	g.t.Helper()
	g.eventually("a permission is asked for", func() bool {
		for _, a := range g.must("GET", "/approvals", nil, 200).array("approvals") {
			if a.str("channel") == channel && a.str("kind") == "tool" {
				approval = a.str("id")
			}
		}
		return approval != ""
	})
	return approval
}

func provokeGateway(g *gateway) {
	g.t.Helper()
	for _, path := range []string{"/health", "/metrics", "/openapi.yaml"} {
		g.must("GET", path, nil, 200)
	}
	g.must("POST", "/send", obj{"channel": "tg-1", "text": "hi"}, 404)
	g.must("POST", "/send", obj{"channel": "tg-1"}, 400)
	g.must("GET", "/upgrade", nil, 200)
	g.must("POST", "/upgrade", obj{"path": "relative"}, 400)
	g.must("POST", "/upgrade", obj{"path": g.path("none")}, 503)
	g.must("GET", "/nothing", nil, 404)
	g.must("PUT", "/message", nil, 405)
}

// provokeBodies sends bodies that no route with a body takes.
func provokeBodies(g *gateway) {
	g.t.Helper()
	for _, path := range []string{"/message", "/send", "/restart", "/upgrade", "/approvals/none", "/channels/http/interrupt", "/messages/none/retry", "/schedules"} {
		g.must("POST", path, `{"half`, 400)
		g.must("POST", path, `{"text": "`+strings.Repeat("x", 100<<10)+`"}`, 413)
		if a, err := g.do("POST", path, `text`, "Content-Type", "text/plain"); err != nil || a.status != 415 {
			g.t.Errorf("%s: plain text: %v, status %d", path, err, a.status)
		}
	}
	g.must("PATCH", "/channels/http", `{"model": "`+strings.Repeat("x", 100<<10)+`"}`, 413)
	if a, err := g.do("PATCH", "/channels/http", `text`, "Content-Type", "text/plain"); err != nil || a.status != 415 {
		g.t.Errorf("settings as plain text: %v, status %d", err, a.status)
	}
}

// operations calls f with every documented operation, on paths that exist in form.
func operations(r *openapi.Recorder, f func(method, path string)) {
	for _, op := range r.Operations() {
		method, path, _ := strings.Cut(op, " ")
		f(method, strings.NewReplacer("{id}", "none", "{key}", "http").Replace(path))
	}
}

func provokeForeigners(g *gateway, r *openapi.Recorder) {
	g.t.Helper()
	operations(r, func(method, path string) {
		g.foreign(method, path, "Host", "evil.example").refused(g.t, method+" "+path, 403, "foreign_host")
	})
	g.must("GET", "/health", nil, 200)
}

func provokeUnauthorized(t *testing.T, r *openapi.Recorder) {
	t.Helper()
	g := newMachine(t, "BARECLAW_HTTP_TOKEN="+token).start().through(r)
	operations(r, func(method, path string) {
		g.foreign(method, path).refused(t, method+" "+path, 401, "unauthorized")
	})
}

func provokeSchedules(g *gateway) {
	g.t.Helper()
	body := obj{"channel": "c", "text": "echo later", "when": "@yearly"}
	for _, want := range []int{201, 200, 422} {
		if want == 422 {
			body["text"] = "echo other"
		}
		if a, err := g.do("POST", "/schedules", body, "Idempotency-Key", "job"); err != nil || a.status != want {
			g.t.Errorf("keyed schedule: %v, status %d, want %d", err, a.status, want)
		}
	}
	g.must("POST", "/schedules", obj{"channel": "c", "text": "a", "when": "soon"}, 400)
	id := g.schedule("c", "echo now", "in 1s")
	g.occurred(id)
	g.must("GET", "/schedules", nil, 200)
	g.must("DELETE", "/schedules/"+id, nil, 200)
	g.must("GET", "/schedules/"+id, nil, 404)
	g.must("DELETE", "/schedules/"+id, nil, 404)
	g.fillSchedules(schedule.MaxJobs - 1)
	g.must("POST", "/schedules", obj{"channel": "c", "text": "a", "when": "in 1h"}, 409)
}

// fillSchedules adds schedules that are due once a year.
func (g *gateway) fillSchedules(n int) {
	g.t.Helper()
	db := g.ledgerFile()
	defer func() { _ = db.Close() }()
	_, err := db.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<?1)
		INSERT INTO schedules(id, channel, decided_to, done_at, doc)
		SELECT 'n'||i, 'c', ?2, 0, json_object('text', 'echo later', 'when', 'cron @yearly', 'missed', 'skip', 'created_at', ?2) FROM n`,
		n, time.Now().UnixNano())
	if err != nil {
		g.t.Fatal(err)
	}
}

// provokePushes pushes through a bot that knows Anna, and no one else.
func provokePushes(t *testing.T, r *openapi.Recorder) {
	t.Helper()
	p := newPushTest(t)
	p.gateway = p.gateway.through(r)
	g := p.gateway
	for text, want := range map[string]int{"one": 200, "another": 422} {
		first, err := g.do("POST", "/send", obj{"channel": "tg-7", "text": "one"}, "Idempotency-Key", "k")
		if err != nil || first.status != 200 {
			t.Fatalf("the first push: %v, status %d", err, first.status)
		}
		if a, err := g.do("POST", "/send", obj{"channel": "tg-7", "text": text}, "Idempotency-Key", "k"); err != nil || a.status != want {
			t.Errorf("%q under the same key: %v, status %d, want %d", text, err, a.status, want)
		}
	}
	g.must("POST", "/send", obj{"channel": "tg-8", "text": "hi"}).refused(t, "a push to a stranger", 403, "channel_refused")
	g.must("POST", "/send", obj{"channel": "tg-7", "media": obj{"filePath": "none.png"}}).refused(t, "a file that is not there", 400, "bad_media")
	g.must("POST", "/send", obj{"channel": "web-1", "text": "hi"}).refused(t, "a push to no adapter", 404, "no_adapter")
	p.chat.Block()
	g.must("POST", "/send", obj{"channel": "tg-7", "text": "hi"}).refused(t, "a push to one who has blocked the bot", 502, "delivery_failed")
	p.chat.Unblock()
	held := p.api.HoldAnswer("sendMessage", 7)
	defer held.Release()
	first := p.post(t.Context(), obj{"channel": "tg-7", "text": "first"})
	p.api.Await(t, "the first", held.Reached)
	second := p.post(t.Context(), obj{"channel": "tg-7", "text": "second"})
	p.eventually("the second is on record", func() bool { return p.pushes("pending") == 2 })
	p.signal(syscall.SIGTERM)
	p.wantStatus(first, 502).refused(t, "the one under way", 502, "delivery_unconfirmed")
	p.wantStatus(second, 503).refused(t, "the one that waits", 503, "shutting_down")
}

// provokeLockedLedger has another program keep the ledger locked while everything is asked
// that has to be written down.
func provokeLockedLedger(t *testing.T, r *openapi.Recorder) {
	t.Helper()
	m, _, _, _ := newChat(t, "BARECLAW_APPROVALS=ask")
	g := m.start().through(r)
	job := g.schedule("c", "echo later", "in 1h")
	failed := g.say("http", "apierror 529").str("message_id")
	cut := g.cut("cut", "")
	asked := g.tell("asks", "tool 0 ask ls")
	g.must("POST", "/approvals/"+g.permission("asks"), obj{"behavior": "allow", "always": true}, 200)
	g.outcome(asked)
	rule := g.must("GET", "/channels/asks/rules", nil, 200).array("rules")[0].str("id")

	unlock := m.lockLedger()
	var wg sync.WaitGroup
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"POST", "/message", obj{"text": "echo never"}},
		{"POST", "/messages/" + failed + "/retry", nil},
		{"POST", "/approvals/" + cut, obj{"behavior": "continue"}},
		{"POST", "/send", obj{"channel": "tg-7", "text": "never"}},
		{"PATCH", "/channels/http", obj{"model": "haiku"}},
		{"DELETE", "/channels/asks/rules/" + rule, nil},
		{"POST", "/schedules", obj{"channel": "c", "text": "never", "when": "in 1h"}},
		{"DELETE", "/schedules/" + job, nil},
	} {
		wg.Go(func() {
			a, err := g.do(c.method, c.path, c.body)
			if err != nil {
				t.Errorf("%s %s: %v", c.method, c.path, err)
				return
			}
			a.refused(t, c.method+" "+c.path, 503, "storage_unavailable")
		})
	}
	wg.Wait()
	unlock()
	g.say("http", "echo open again").want(t, "open again")
	g.must("GET", "/schedules/"+job, nil, 200)
	if n := g.balanced(); n != 4 {
		t.Errorf("%d messages accepted, want 4", n)
	}
}

// lockLedger keeps everybody else from writing to the ledger until unlock is called.
func (m *machine) lockLedger() (unlock func()) {
	m.t.Helper()
	db := m.ledgerFile()
	c, err := db.Conn(m.t.Context())
	if err == nil {
		_, err = c.ExecContext(m.t.Context(), "BEGIN IMMEDIATE")
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return func() {
		if _, err := c.ExecContext(m.t.Context(), "ROLLBACK"); err != nil {
			m.t.Error(err)
		}
		_ = c.Close()
		_ = db.Close()
	}
}

// provokeRestart restarts a daemon, and asks one that is ending already.
func provokeRestart(t *testing.T, r *openapi.Recorder) {
	t.Helper()
	g := newMachine(t).start().through(r)
	before := g.must("GET", "/health", nil, 200).number("generation")
	g.must("POST", "/restart", nil, 200)
	g.restarted(before)
	// A busy machine may take longer than the daemon waits; then another is asked.
	for deadline := time.Now().Add(patience); ; g = newMachine(t).start().through(r) {
		err := g.restartWhileEnding()
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
	m := newMachine(t)
	m.install("v1", "1h")
	g := m.start().through(r)
	g.must("POST", "/upgrade", obj{"path": releaseOf(t, "v2"), "channel": "http"}, 200)
	g.serves("v2")
	g.must("GET", "/upgrade", nil, 200)
	g.must("POST", "/upgrade", obj{"rollback": true}, 409)
	g.signal(syscall.SIGTERM)
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
func (g *gateway) restartWhileEnding() error {
	g.t.Helper()
	watch := g.stream("GET", "/channels/http/events", nil)
	body := &lateBody{asked: make(chan struct{}), may: make(chan struct{}), text: strings.NewReader("{}")}
	req, err := http.NewRequest(http.MethodPost, g.base+"/restart", body)
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Expect", "100-continue")
	type reply struct {
		a   answer
		err error
	}
	done := make(chan reply, 1)
	go func() { // ends with the daemon, at the latest
		a, err := g.send(req)
		done <- reply{a, err}
	}()
	select {
	case <-body.asked:
	case r := <-done:
		g.t.Fatalf("answered before its body came: %v, %s", r.err, r.a.body)
	}
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		g.t.Fatal(err)
	}
	watch.want("shutdown")
	close(body.may)
	r := <-done
	if r.err != nil {
		return fmt.Errorf("POST /restart of a daemon that ends: %w", r.err)
	}
	r.a.refused(g.t, "restart of a daemon that ends", 503, "shutting_down")
	return nil
}

// provokeFullDisk reports whether a disk could be filled.
func provokeFullDisk(t *testing.T, r *openapi.Recorder) bool {
	t.Helper()
	m, _, _, _ := newChat(t, "BARECLAW_APPROVALS=ask")
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", m.path("state")).Run(); err != nil {
		return false
	}
	t.Cleanup(func() {
		m.endHosts()
		if err := exec.Command("umount", "-l", m.path("state")).Run(); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	g := m.start().through(r)
	defer g.keepLog()()
	job := g.schedule("c", "echo later", "in 1h")
	failed := g.say("http", "apierror 529\n"+strings.Repeat("x", 100<<10)).str("message_id")
	cut := g.cut("cut", "\n"+strings.Repeat("x", 100<<10))
	asked := g.tell("asks", "tool 0 ask ls")
	g.must("POST", "/approvals/"+g.permission("asks"), obj{"behavior": "allow", "always": true}, 200)
	g.outcome(asked)
	rule := g.must("GET", "/channels/asks/rules", nil, 200).array("rules")[0].str("id")
	runs, _ := g.occupy("runs")
	if err := os.WriteFile(m.path("state/filler"), bytes.Repeat([]byte("x"), 4<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk does not get full: %v", err)
	}
	g.must("POST", "/message", obj{"text": "echo no room " + strings.Repeat("x", 100<<10)}, 507)
	g.must("POST", "/messages/"+failed+"/retry", nil, 507)
	g.must("POST", "/approvals/"+cut, obj{"behavior": "continue"}, 507)
	g.must("DELETE", "/channels/asks/rules/"+rule, nil, 507)
	g.must("PATCH", "/channels/http", obj{"model": "haiku"}, 507)
	g.must("POST", "/schedules", obj{"channel": "c", "text": strings.Repeat("x", 30<<10), "when": "in 1h"}, 507)
	g.must("DELETE", "/schedules/"+job, nil, 507)
	g.must("POST", "/send", obj{"channel": "tg-7", "text": strings.Repeat("x", 100<<10)}, 507)
	g.must("POST", "/channels/runs/interrupt", nil, 507)
	if err := os.Remove(m.path("state/filler")); err != nil {
		t.Fatal(err)
	}
	g.say("http", "echo room again").want(t, "room again")
	if a := g.outcome(runs); a.str("code") != "interrupted" {
		t.Errorf("the interrupted message ends as %s", a.body)
	}
	if n := g.balanced(); n != 5 {
		t.Errorf("%d messages accepted, want 5", n)
	}
	g.signal(syscall.SIGINT)
	return true
}

// keepLog has the ledger's log not begin anew until the returned function is called: there
// would be room in it on a full disk. It reads the ledger as it is now for so long.
func (m *machine) keepLog() (end func()) {
	m.t.Helper()
	db := m.ledgerFile()
	now, err := db.Begin()
	if err == nil {
		var n int
		err = now.QueryRow(`SELECT count(*) FROM messages`).Scan(&n)
	}
	if err != nil {
		m.t.Fatal(err)
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
	g := newMachine(t).start()
	for what, row := range map[string]struct {
		old, new string // what the document loses
		request  func(g *gateway)
		want     string
	}{
		"status": {`        "409":
          description: "` + "`not_waiting`" + `: it runs or has its outcome"`, `        "499":
          description: another`, func(g *gateway) {
			g.must("DELETE", "/messages/"+g.say("http", "echo hi").str("message_id"), nil, 409)
		}, "status is not documented"},
		"route":  {"  /openapi.yaml:\n", "  /another.yaml:\n", func(g *gateway) { g.must("GET", "/openapi.yaml", nil, 200) }, "route is not documented"},
		"member": {"        uptime_ms: {type: integer, minimum: 0}\n", "", func(g *gateway) { g.must("GET", "/health", nil, 200) }, "uptime_ms"},
		"event": {"                result: Outcome\n", "", func(g *gateway) {
			g.stream("POST", "/message", obj{"text": "echo hi"}).want("result")
		}, `event "result" is not documented`},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			doc := strings.ReplaceAll(string(docs.OpenAPI()), row.old, row.new)
			if doc == string(docs.OpenAPI()) {
				t.Fatalf("the document does not have %q", row.old)
			}
			w := &witness{TB: t}
			row.request(g.through(openapi.New(w, []byte(doc), nil)))
			if !slices.ContainsFunc(w.failures, func(f string) bool { return strings.Contains(f, row.want) }) {
				t.Errorf("failures are %q, want %q among them", w.failures, row.want)
			}
		})
	}
}
