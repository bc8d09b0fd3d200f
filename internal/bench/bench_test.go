package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"bareclaw/internal/cli"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/executable"
)

// TestMain makes the test binary the server that the benchmark starts, and
// that server's hosts.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == mountedRole {
		_ = serveMounted(context.Background()) // until its input ends
		return
	}
	if serveRole(os.Args[1:]) {
		os.Exit(exitcode.Failed)
	}
	if len(os.Args) > 1 && os.Args[1] == "observe" {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if os.Getenv(markName) == "" {
		os.Exit(m.Run())
	}
	if len(os.Args) > 1 { // a host: it does nothing until it is ended
		time.Sleep(time.Hour)
		return
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve answers /health, and /message at once; each channel gets a process. It
// ends with SIGINT. A server that is called "leaky" forgets its processes, and
// one called "broken" answers 500.
func serve() error {
	name := filepath.Base(os.Args[0])
	var mu sync.Mutex
	hosts := map[string]*exec.Cmd{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /channels/", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	mountedNames := ""
	for n := range mountedServers {
		mountedNames += fmt.Sprintf(`,{"name":"server_%d_echo_0","inputSchema":{"type":"object"}}`, n)
	}
	mcp := func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"created, restarted"}],"structuredContent":{"pid":%d},"tools":[{"name":"channel_list","inputSchema":{"type":"object"}},{"name":"hello_world","inputSchema":{"type":"object"}}%s]}}`, os.Getpid(), mountedNames)
	}
	mux.HandleFunc("POST /mcp", mcp)
	mux.HandleFunc("POST /mcp/bags/{bag}", mcp)
	mux.HandleFunc("POST /message", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Channel, Text string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || name == "broken" {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if hosts[in.Channel] == nil {
			host := exec.Command(os.Args[0], "host")
			if host.Start() != nil {
				http.Error(w, "no host", http.StatusInternalServerError)
				return
			}
			hosts[in.Channel] = host
			if idle, err := time.ParseDuration(os.Getenv("BARECLAW_IDLE_TIMEOUT")); err == nil {
				time.AfterFunc(idle, func() { _ = host.Process.Kill(); _ = host.Wait() })
			}
		}
		text := "ok"
		if in.Text != helloText && in.Text != "realistic" {
			text = fmt.Sprintf("text=%d warm", len(in.Text))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"text": text, "is_error": false})
	})
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	failed := make(chan error, 1)
	go func() { failed <- http.ListenAndServe("127.0.0.1:"+os.Getenv("BARECLAW_PORT"), mux) }()
	select {
	case err := <-failed:
		return err
	case <-stop:
	}
	mu.Lock()
	defer mu.Unlock()
	for _, host := range hosts {
		if name == "leaky" {
			break
		}
		_ = host.Process.Kill()
		_ = host.Wait()
	}
	return nil
}

// tinyPlan takes every path of the measurement once.
func tinyPlan() plan {
	return plan{rounds: 2, starts: 2, warm: 20 * time.Millisecond, bareMessages: 20, coldChannels: 2, burst: 3, load: 20 * time.Millisecond, loads: []int{1, 3}, crowds: []int{1, 3}, idle: 20 * time.Millisecond, known: 3,
		eventTurns: 1, sizeRounds: 1, sizes: []int{1}, syncs: 4, tools: 2, manyTools: 2, toolRequests: 2, toolRestarts: 2, patience: 20 * time.Millisecond,
		observedRequests: 3, observedRounds: 1, observedCrowd: 30}
}

// stub returns a program that serves; name says how.
func stub(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	check.OK(t, err)
	program := filepath.Join(t.TempDir(), name)
	check.OK(t, os.Symlink(self, program))
	return program
}

func TestMeasuresEveryScenarioOfBothTargets(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r, err := measure(t.Context(), options{program: stub(t, "ours"), baselineCmd: stub(t, "base")}, tinyPlan(), &log)
	if err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	want := []string{"start.p50", "warm.p50", "warm.p99", "cold.p50", "burst.wall", "load.1.rate", "load.3.p99", "events.wall", "sizes.in.1", "sizes.out.1"}
	if row := r.rows["bags.list.p50"]; row.ours == nil || row.ours.value <= 0 {
		t.Errorf("bags.list.p50: %v", row.ours)
	}
	if row := r.rows["tools.list.ratio"]; row.ours == nil || row.ours.value <= 0 {
		t.Errorf("tools.list.ratio: %v", row.ours)
	}
	if runtime.GOOS == "linux" {
		want = append(want, "memory.daemon.0", "memory.own.0", "memory.hostpss.3", "events.cpu")
		for _, id := range []string{"reclaim.processes", "reclaim.again", "known.processes", "known.ready"} { // only ours can do that
			if row := r.rows[id]; row.ours == nil || row.baseline != nil || (row.ours.value == 0) != (row.ours.unit == "") {
				t.Errorf("%s: ours %v, baseline %v", id, row.ours, row.baseline)
			}
		}
	}
	for _, id := range []string{"observe.rate", "observe.spans", "observe.findings", "observe.get_report"} {
		if row := r.rows[id]; row.ours == nil || row.ours.value <= 0 {
			t.Errorf("%s: %v", id, row.ours)
		}
	}
	for _, id := range want {
		row := r.rows[id]
		if row.ours == nil || row.baseline == nil {
			t.Errorf("%s: ours %v, baseline %v", id, row.ours, row.baseline)
		}
	}
	for _, id := range []string{"start.p50", "load.1.rate"} {
		if got := r.rows[id].ours; got.value <= 0 {
			t.Errorf("%s = %v, want more than nothing", id, got)
		}
	}
	// But for the hosts that the stub left when it was killed: it knows of none.
	if got := log.String(); strings.Count(got, "left") > 1 {
		t.Errorf("processes were left behind:\n%s", got)
	}
}

func TestEndsWhatADaemonLeavesBehind(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows which processes are ours")
	}
	var log bytes.Buffer
	l := &lab{plan: tinyPlan(), dir: t.TempDir(), log: &log}
	s, err := l.start(t.Context(), target{name: "leaky", command: []string{stub(t, "leaky")}, claude: "/bin/false", health: true}, instant)
	check.OK(t, err)
	if _, err := s.crowd(t.Context(), "leak", helloText, 0, 2, 2); err != nil {
		t.Fatal(err)
	}
	if got := len(s.hosts()); got != 2 {
		t.Errorf("%d hosts, want 2", got)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "leaky left 2 processes") {
		t.Errorf("reported %q", &log)
	}
	if err := await(t.Context(), 5*time.Second, time.Millisecond, func() bool { return len(s.processes()) == 0 }); err != nil {
		t.Errorf("still there: %v", s.processes())
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", s.dir, err)
	}
}

// TestReportsAServerThatFails has one answer with an error, and one not start.
func TestReportsAServerThatFails(t *testing.T) {
	t.Parallel()
	dies := filepath.Join(t.TempDir(), "dies")
	check.OK(t, executable.Write(dies, []byte("#!/bin/sh\necho no disk today\nexit 3\n")))
	for program, words := range map[string][]string{stub(t, "broken"): {"status 500"}, dies: {"exit status 3", "no disk today"}} {
		_, err := measure(t.Context(), options{program: program, only: []string{"warm"}}, tinyPlan(), &bytes.Buffer{})
		for _, want := range words {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
	}
	if code := run(t.Context(), []string{"-only", "nothing"}, &bytes.Buffer{}, &bytes.Buffer{}); code != exitcode.Usage {
		t.Errorf("an unknown scenario: exit %d", code)
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	r := report{machine: machine{cpu: "CPU", cores: 2, system: "Linux", goVersion: "go1", fileSystem: "ext4"}, began: time.Now()}
	r.add(target{baseline: true}, []figure{
		{id: "warm.p50", name: "warm", unit: "ms", value: 1},
		{id: "load.10.rate", name: "rate", unit: "/s", value: 1000},
		{id: "sizes.in.10", name: "in", unit: "ms", note: "refused: 413"},
	})
	r.add(target{}, medians([]figure{
		{id: "warm.p50", name: "warm", unit: "ms", value: 0.1}, {id: "load.10.rate", name: "rate", unit: "/s", value: 2500},
		{id: "sizes.in.10", name: "in", unit: "ms", value: 123.4}, {id: "cold.p50", name: "cold", unit: "ms", value: 15.5},
		{id: "warm.p50", name: "warm", unit: "ms", value: 9}, {id: "warm.p50", name: "warm", unit: "ms", value: 0.4},
		{id: "known.processes", name: "left", value: 0},
	}))
	out := r.markdown()
	for _, want := range []string{
		"| warm | 1.00 ms | 0.40 ms | 0.40× | ≤ 0.5× | yes |\n",
		"| rate | 1000 /s | 2500 /s | 2.50× | ≥ 3× | no |\n",
		"| in | refused: 413 | 123 ms |  | answered | yes |\n",
		"| cold | – | 15.5 ms |  | ≤ 15 ms | no |\n",
		"| left | – | 0 |  | none | yes |\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i)
	}
	for _, c := range []struct {
		samples []time.Duration
		q       float64
		want    time.Duration
	}{
		{nil, 0.5, 0}, {[]time.Duration{7}, 0.99, 7}, {[]time.Duration{3, 1, 2}, 0.5, 2},
		{hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 1, 100}, {hundred, 0, 1},
	} {
		if got := quantile(c.samples, c.q); got != c.want {
			t.Errorf("quantile %g of %d samples = %d, want %d", c.q, len(c.samples), got, c.want)
		}
	}
}
