package daemon

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/core/config"
	"bareclaw/internal/testkit/check"
)

// TestLookAtTrial has a program on trial answer, and not be well.
func TestLookAtTrial(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "bc") // short: a socket has to fit below it
	check.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "api.sock"))
	check.OK(t, err)
	says := ""
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, says)
	}))
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	defer s.Close()
	r := &restarts{base: &base{cfg: config.Config{StateDir: dir, RuntimeDir: dir}}}
	for health, want := range map[string]string{
		`{"ready":true,"pid":7,"ledger":{}}`:                   "",
		`{"ready":true,"pid":8,"ledger":{}}`:                   "process 8 answers in its place",
		`{"ready":false,"pid":7,"ledger":{}}`:                  "it is not ready",
		`{"ready":true,"pid":7}`:                               "it cannot read the ledger",
		`{"ready":true,"pid":7,"ledger":{"problem":"sealed"}}`: "it cannot write the ledger: sealed",
		`rubbish`: "understand",
	} {
		says = health
		if err := r.lookAt(t.Context(), 7); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", health, err, want)
		}
	}
}
