package daemon

import (
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"bareclaw/core/config"
	"bareclaw/core/tools/gateway"
	"bareclaw/internal/testkit/check"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestSystemPrompt compares what claude is told with the golden file: it is read at
// the beginning of every conversation and so is kept short.
func TestSystemPrompt(t *testing.T) {
	t.Parallel()
	const golden = "testdata/prompt.golden"
	p := systemPrompt{
		program: "/home/ann/it's here/bareclaw",
		source:  "/home/ann/src/bareclaw",
		builds:  true,
		notes:   "/home/ann/.config/bareclaw/notes.md",
		places:  "A channel tg-… is a Telegram chat.",
	}
	got := p.text() + "\n"
	if *update {
		check.OK(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want, err := os.ReadFile(golden)
	check.OK(t, err)
	if got != string(want) {
		t.Errorf("the prompt is\n%s\nwant\n%s\n(-update writes it)", got, want)
	}
	p.source, p.builds = "/src", false
	if as := p.text(); !strings.Contains(as, "bareclaw' upgrade --from /src") {
		t.Errorf("where a restart does not build, the prompt does not say how a changed source applies:\n%s", as)
	}
	p.source = ""
	if without := p.text(); strings.Contains(without, "source is in") {
		t.Errorf("a source is told of where there is none:\n%s", without)
	}
	for _, tool := range gateway.Tools(gateway.Options{}) {
		if !strings.Contains(got, tool.Name) {
			t.Errorf("the prompt does not name the tool %s", tool.Name)
		}
	}
	if n := len(got); n > 2750 {
		t.Errorf("the prompt has %d bytes", n)
	}
}

// TestUseProcessors holds that few lanes share one processor, and that more lanes get all. It
// is not parallel: the setting is the process's.
func TestUseProcessors(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	defer runtime.SetDefaultGOMAXPROCS()
	runtime.SetDefaultGOMAXPROCS()
	all := runtime.GOMAXPROCS(0)
	for _, step := range []struct{ lanes, want int }{{0, 1}, {fewLanes, 1}, {fewLanes + 1, all}, {fewLanes + 2, all}, {fewLanes + 1, all}, {fewLanes, 1}} {
		if useProcessors(step.lanes); runtime.GOMAXPROCS(0) != step.want {
			t.Errorf("%d lanes use %d processors, want %d", step.lanes, runtime.GOMAXPROCS(0), step.want)
		}
	}
	t.Setenv("GOMAXPROCS", "3")
	if useProcessors(fewLanes + 1); runtime.GOMAXPROCS(0) != 1 {
		t.Errorf("the user's choice is overruled by %d processors", runtime.GOMAXPROCS(0))
	}
}

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
	r := &restarts{base: &base{cfg: config.Config{Files: config.Files{StateDir: config.Path(dir), RuntimeDir: config.Path(dir)}}}}
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
