package tools

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/observe/analysis"
	"bareclaw/observe/api"
	"bareclaw/observe/capture"
	"bareclaw/observe/discovery"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

// patience is longer than anything takes that a test waits for.
const patience = time.Minute

// TestWithStores: a finding of real rules is listed, is still there while the app has it, and is resolved by
// requests that are sent again after the fix.
func TestWithStores(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	log := slog.New(slog.DiscardHandler)
	check.OK(t, os.MkdirAll(h.dir("shop"), 0o700))
	data := filepath.Join(h.dir("shop"), discovery.DataDir)
	store, err := findings.OpenStore(data, anyStore{}, log)
	check.OK(t, err)
	history, err := findings.OpenHistory(data, store, log)
	check.OK(t, err)
	requests := capture.NewStore(capture.Options{Log: log})
	requests.AppStarted()
	analyst := analysis.New(analysis.Options{
		Source:   requests,
		Findings: store,
		History:  history,
		Rules:    rules.All(),
		Log:      log,
	})
	go requests.Run(t.Context())                 // ends with the test
	go func() { _ = analyst.Run(t.Context()) }() // likewise

	var fixed atomic.Bool
	var sent atomic.Int64
	b := makeBackend()
	send := func() api.Replayed {
		r := makeRequest(fmt.Sprint("s", sent.Add(1)), "GET", "/config", "/config")
		r.Started = time.Now()
		r.Received.Header = http.Header{"Content-Type": {"application/json"}}
		r.Received.Media = "application/json"
		body := `{"apiKey":"sk-a1b2c3d4e5f6g7h8"}`
		if fixed.Load() {
			body = `{"theme":"dark"}`
		}
		requests.Begin(r)
		requests.End(capture.Raw{Request: r, Received: capture.RawBody{Bytes: []byte(body)}})
		return api.Replayed{RequestID: r.ID, Before: 200, Status: 200}
	}
	b.replay = func(*backend, string) (api.Replayed, error) { return send(), nil }
	r, err := discovery.Own("shop")
	check.OK(t, err)
	r.Dir = h.dir("shop")
	r.Port = serveAPI(t, api.Options{
		Captured: fullBackend{b, requests},
		Findings: store,
		Replay:   b,
	})
	check.OK(t, h.records.Write(r))

	send()
	check.Eventually(t, patience, "there is a finding", func() bool { return len(store.All()) > 0 })
	finding := store.All()[0].ID
	h.want("get_findings", `{}`, false, "[critical]", "⟦GET /config⟧", "id "+finding, "request s1", "!sk-a1b2")
	h.want("report_fix", `{"finding_id":"`+finding+`","status":"fixing"}`, false, "being fixed")
	h.want("verify_fix", `{"finding_id":"`+finding+`","replay":true}`, false, "STILL PRESENT")
	fixed.Store(true)
	h.want("report_fix", `{"finding_id":"`+finding+`","status":"fixed","note":"left out"}`, false, "fixed")
	h.want("verify_fix", `{"finding_id":"`+finding+`","replay":true}`, false, "RESOLVED", "5 requests sent again.")
	h.want("get_report", `{}`, false, "open: 0", "resolved: 1")
	fixed.Store(false)
	h.want("verify_fix", `{"endpoint":"GET /config","replay":true}`, false, "RESOLVED", "!sent again")
	send()
	check.Eventually(t, patience, "the finding is open again", func() bool { return store.All()[0].State == findings.Open })
	h.want("get_findings", `{}`, false, "came back after it was resolved (1×)")
}

// anyStore trusts each store.
type anyStore struct{}

// Trusted implements findings.Stores.
func (anyStore) Trusted(string) bool { return true }

// Remember implements findings.Stores.
func (anyStore) Remember(string) {}
