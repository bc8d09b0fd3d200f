package http

import (
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"bareclaw/docs"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/openapi"
)

// TestAnswersOfADaemon holds the answers that a daemon adds to those of the API's own tests
// against the document: its health, its settings, its restart, and what becomes of a message
// while another program keeps the ledger locked.
func TestAnswersOfADaemon(t *testing.T) {
	t.Parallel()
	p := harness.NewPushTest(t, "BARECLAW_ALLOWED_HOSTS=box.lan", "BARECLAW_HTTP_TOKEN="+harness.Token, "BARECLAW_BODY_LIMIT=64KiB")
	g := through(p.Gateway, openapi.New(t, docs.OpenAPI(), &http.Transport{})).Bearer()
	g.Say("http", "echo one").Want(t, "one")
	for _, path := range []string{"/health", "/metrics", "/openapi.yaml", "/channels", "/channels/http", "/schedules", "/upgrade"} {
		g.Must("GET", path, nil, 200)
	}
	if a := foreign(g, "GET", "/health", "Host", "box.lan"); a.Status != 200 {
		t.Errorf("an allowed host: %d %s", a.Status, a.Body)
	}
	foreign(g, "GET", "/health", "Host", "evil.example").Refused(t, "another host", 403, "foreign_host")
	large := g.Must("POST", "/message", harness.Obj{"text": strings.Repeat("x", 100<<10)})
	large.Refused(t, "a large body", 413, "body_too_large")
	if !strings.Contains(large.Str("error"), "64 KiB") || !strings.Contains(large.Str("error"), "BARECLAW_BODY_LIMIT") {
		t.Errorf("the limit is not named: %s", large.Body)
	}
	g.Must("POST", "/upgrade", harness.Obj{"path": g.Path("none")}).Refused(t, "no program", 503, "upgrade_failed")
	g.Restart()

	db := g.LedgerFile()
	lock, err := db.Conn(t.Context())
	if err == nil {
		_, err = lock.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	}
	check.OK(t, err)
	g.Must("POST", "/message", harness.Obj{"text": "echo never"}).Refused(t, "a message while the ledger is locked", 503, "storage_unavailable")
	check.OK(t, errors.Join(lock.Close(), db.Close())) // which ends the transaction
	g.Say("http", "echo two").Want(t, "two")
	if n := g.Balanced(); n != 2 {
		t.Errorf("%d messages accepted, want 2", n)
	}
}

// through is the same gateway with all its answers checked.
func through(g *harness.Gateway, r *openapi.Recorder) *harness.Gateway {
	checked := *g
	checked.HTTP = &http.Client{Transport: r, Timeout: harness.HeldPatience}
	return &checked
}

// cut has a turn begin a tool and kills its claude. It returns the approval that asks
// whether the turn is gone on with.
func cut(g *harness.Gateway, channel string) (approval string) {
	g.T.Helper()
	id := g.Tell(channel, "toolwait "+g.Path("never"))
	g.Eventually("the tool runs", func() bool { return g.Did("tool", "never") })
	h := g.Hosts()[channel]
	check.OK(g.T, proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL))
	g.Outcome(id)
	for _, a := range g.Must("GET", "/approvals", nil, 200).Array("approvals") {
		if a.Str("message_id") == id {
			return a.Str("id")
		}
	}
	g.T.Fatal("nobody is asked whether the turn is gone on with")
	return ""
}
