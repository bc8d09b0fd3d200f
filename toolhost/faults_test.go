package toolhost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
	testchild "bareclaw/internal/testkit/child"
)

// kill ends the process as a crash does, and returns when another one serves.
func (r *running) kill(signal syscall.Signal) {
	r.t.Helper()
	r.hit(signal)
	r.revived()
}

func (r *running) hit(signal syscall.Signal) {
	r.t.Helper()
	c, _ := r.state.now()
	check.OK(r.t, syscall.Kill(c.pid, signal))
	if signal == syscall.SIGSTOP {
		r.eventually("the process does not answer", func() bool { return !r.state.ask(r.t.Context(), c) })
		return
	}
	select {
	case <-c.left:
	case <-time.After(patience):
		r.t.Fatal("the end of the process is not noticed")
	}
}

func (r *running) revived() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	if _, err := r.state.await(ctx); err != nil {
		r.t.Fatal(err)
	}
}

// TestCrash: a tool host that ends by itself is there again at once, with its tools.
func TestCrash(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.write("mine.ts", file("mine", "Mine", "return 'mine';"))
	r.offers("mine", "Mine")
	before := r.now().PID
	began := time.Now()
	r.kill(syscall.SIGKILL)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("back after %s", took)
	}
	r.gives("mine", `{}`, "mine")
	if s := r.now(); s.PID == before || s.RestartCount != 1 || !s.Healthy || s.Problem != "" {
		t.Errorf("the state is %+v", s)
	}
	if !r.log.has("level=ERROR", "the tool host has crashed", fmt.Sprintf("pid=%d", before), "signal: killed") {
		t.Error("the crash is not logged")
	}
	r.gives("worker_restart", `{}`, "Secondary server restarted successfully")
	if s := r.now(); s.RestartCount != 1 {
		t.Errorf("a restart that was asked for counts: %+v", s)
	}
}

// TestCrashDuringCalls: each of 200 calls under way ends in a result or a clear error when the tool
// host is killed, those that may run again in a result.
func TestCrashDuringCalls(t *testing.T) {
	t.Parallel()
	r := start(t)
	const body = "console.log('begun'); await new Promise((done) => setTimeout(done, args.ms)); return 'done';"
	r.write("once.ts", file("once", "Once", body))
	r.write("again.ts", fileWith("again", "Again", "annotations: { idempotentHint: true },", body))
	r.offers("once", "Once")
	r.offers("again", "Again")
	var calls sync.WaitGroup
	results := make(chan tools.Result, 200)
	for i := range cap(results) {
		name := []string{"once", "again"}[i%2]
		calls.Go(func() {
			got := r.call(name, `{"ms":100}`)
			if got.IsError && name == "again" {
				t.Errorf("again: %s", shortened(got))
			}
			results <- got
		})
	}
	r.eventually("some calls run", func() bool { return strings.Count(r.log.String(), "line=begun") >= 4 })
	began := time.Now()
	r.kill(syscall.SIGKILL)
	r.gives("hello_world", `{}`, `{"greeting":"Hello, World!"}`)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("back after %s", took)
	}
	calls.Wait()
	close(results)
	cut := 0
	for got := range results {
		switch {
		case !got.IsError && got.Text == "done":
		case got.IsError && strings.Contains(got.Text, "the tool host ended during the call of once, which may have had effects"):
			cut++
		default:
			t.Errorf("a call ends with %s", shortened(got))
		}
	}
	if cut == 0 || cut > 100 {
		t.Errorf("%d calls were cut", cut)
	}
}

// TestTooManyCrashes: the sixth crash rolls back to the most recent snapshot that is not one of
// before a rollback.
func TestTooManyCrashes(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.write("good.ts", file("good", "Good", "return 1;"))
	r.offers("good", "Good")
	r.call("worker_snapshot", `{"name":"good"}`)
	r.write("good.ts", file("good", "Other", "return 1;"))
	r.offers("good", "Other")
	r.call("worker_rollback", `{}`)
	r.write("bad.ts", file("bad", "Bad", "return 2;"))
	r.offers("bad", "Bad")
	for n := 1; n <= maxRestarts; n++ {
		r.kill(syscall.SIGKILL)
		if s := r.now(); s.RestartCount != n {
			t.Fatalf("after %d crashes the state is %+v", n, s)
		}
		r.offers("bad", "Bad")
	}
	r.kill(syscall.SIGKILL)
	r.offers("good", "Good")
	r.offers("bad", "")
	if s := r.now(); s.RestartCount != 0 || !s.Healthy {
		t.Errorf("the state is %+v", s)
	}
	if !r.log.has("level=WARN", "rolled back", r.ids("good")[0]) {
		t.Error("the rollback is not logged")
	}
	rescued := r.ids(rescueName)
	if len(rescued) != 2 {
		t.Fatalf("snapshots of before a rollback are %v", rescued)
	}
	r.gives("worker_rollback", `{"snapshot":"`+rescued[0]+`"}`, "Rolled back to snapshot: "+rescued[0])
	r.offers("bad", "Bad")
}

// TestHang: a tool host that does not answer is replaced, and calls wait for that.
func TestHang(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.hit(syscall.SIGSTOP)
	r.gives("hello_world", `{}`, `{"greeting":"Hello, World!"}`)
	r.revived()
	if s := r.now(); s.RestartCount != 1 || !s.Healthy {
		t.Errorf("the state is %+v", s)
	}
	if !r.log.has("level=ERROR", "does not answer") {
		t.Error("the hang is not logged")
	}
}

// TestNeverStarts: a tool host that does not start is tried with pauses, and calls say why.
func TestNeverStarts(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "broken")
	check.OK(t, os.WriteFile(bin, []byte("#!/bin/sh\necho no luck today >&2\nexit 7\n"), 0o700))
	began := time.Now()
	r := start(t, func(o *Options) { o.Self = bin })
	r.eventually("the reason", func() bool {
		s := r.now()
		return s.Status == "failed" && strings.Contains(s.Problem, "exit status 7: no luck today")
	})
	if got := r.call("worker_status", `{}`); got.IsError {
		t.Errorf("worker_status: %s", shortened(got))
	}
	r.refuses("worker_restart", `{}`, "exit status 7: no luck today")
	check.OK(t, os.MkdirAll(filepath.Join(r.files.dir, "good_1", "tools"), 0o700))
	check.OK(t, os.WriteFile(filepath.Join(r.files.dir, "good_1", "tools", "a.ts"), nil, 0o600))
	check.OK(t, os.WriteFile(filepath.Join(r.files.dir, "good_1", "metadata.json"), []byte(`{"name":"good"}`), 0o600))
	r.refuses("worker_rollback", `{"snapshot":"good_1"}`, "exit status 7: no luck today")
	if names := fmt.Sprint(entries(t, r.dir)); names != "[a.ts]" {
		t.Errorf("the directory has %s", names)
	}
	if n, took := strings.Count(r.log.String(), "the tool host does not start"), time.Since(began); took < 10*time.Second && n > 40 {
		t.Errorf("%d starts within %s", n, took)
	}
	check.OK(t, os.Remove(bin))
	self, err := os.Executable()
	check.OK(t, err)
	check.OK(t, os.Symlink(self, bin))
	r.gives("worker_restart", `{}`, "Secondary server restarted successfully")
	r.gives("hello_world", `{}`, `{"greeting":"Hello, World!"}`)
}

// TestSilent: a call ends with its caller, also if the tool host never answers.
func TestSilent(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *Options) { o.Self = programOf(t, silentRole) })
	tool, ok := r.registry.Find("silent")
	if !ok || tool.Timeout != time.Second+extraTime {
		t.Fatalf("silent is %+v", tool)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := tool.Handle(ctx, tools.Call{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	began := time.Now()
	r.stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the end took %s", took)
	}
}

// programOf returns a program that is this one in a role.
func programOf(t *testing.T, role string) string {
	t.Helper()
	self, err := os.Executable()
	check.OK(t, err)
	path := filepath.Join(t.TempDir(), "program")
	check.OK(t, os.WriteFile(path, []byte("#!/bin/sh\nexec "+self+" "+role+"\n"), 0o700))
	return path
}

// TestDirectoryFaults: whatever happens to the tools directory, the tools of the program serve,
// and those of files come back.
func TestDirectoryFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm func(r *running) error
		mend func(r *running) error
	}{
		"deleted":       {func(r *running) error { return os.RemoveAll(r.dir) }, nil},
		"parent gone":   {func(r *running) error { return os.RemoveAll(filepath.Dir(r.dir)) }, nil},
		"replaced":      {func(r *running) error { return errors.Join(os.Rename(r.dir, r.dir+"2"), os.Mkdir(r.dir, 0o700)) }, nil},
		"made anew":     {func(r *running) error { return errors.Join(os.RemoveAll(r.dir), os.Mkdir(r.dir, 0o700)) }, nil},
		"a file":        {func(r *running) error { return errors.Join(os.RemoveAll(r.dir), os.WriteFile(r.dir, nil, 0o600)) }, func(r *running) error { return os.Remove(r.dir) }},
		"dangling link": {func(r *running) error { return errors.Join(os.RemoveAll(r.dir), os.Symlink("nowhere", r.dir)) }, func(r *running) error { return os.Remove(r.dir) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t)
			r.write("mine.ts", file("mine", "Mine", "return 'mine';"))
			r.offers("mine", "Mine")
			check.OK(t, c.harm(r))
			r.offers("mine", "")
			r.gives("hello_world", `{}`, `{"greeting":"Hello, World!"}`)
			if c.mend != nil {
				r.refuses("dynamic_tool_create", creation(t, "made", "return 1"), "write the tool")
				check.OK(t, c.mend(r))
			}
			r.eventually("the directory", func() bool { st, err := os.Stat(r.dir); return err == nil && st.IsDir() })
			r.write("mine.ts", file("mine", "Again", "return 'again';"))
			r.offers("mine", "Again")
			if s := r.now(); s.RestartCount != 0 {
				t.Errorf("the state is %+v", s)
			}
		})
	}
}

// TestDaemonKilled: a tool host does not outlive its daemon, also if it hangs.
func TestDaemonKilled(t *testing.T) {
	t.Parallel()
	for _, hangs := range []bool{false, true} {
		if hangs && runtime.GOOS != "linux" {
			continue // a tool host that hangs does not see the end of its input
		}
		dir, err := os.MkdirTemp("", "th")
		check.OK(t, err)
		defer func() { check.OK(t, os.RemoveAll(dir)) }()
		self, err := os.Executable()
		check.OK(t, err)
		daemon := exec.Command(self, daemonRole, dir)
		line, _ := testchild.Start(t, daemon)
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		check.OK(t, err)
		if hangs {
			check.OK(t, syscall.Kill(pid, syscall.SIGSTOP))
		}
		began, err := proc.StartTime(pid)
		check.OK(t, err)
		check.OK(t, daemon.Process.Kill())
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := proc.WaitGone(ctx, pid, began); err != nil {
			t.Errorf("the tool host outlives its daemon (hangs: %t): %v", hangs, err)
		}
	}
}

// TestEndsDuringCalls: when the tool host ends while it carries out calls, the tools of others stay,
// however often that is. A file whose tool ran alone is left out the second time, until it changes.
func TestEndsDuringCalls(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.gives("dynamic_tool_create", creation(t, "precious", "return 1"), `Tool 'precious' created successfully. Call it now: tool_call with name "precious".`)
	const waits = "console.log('begun'); await new Promise((done) => setTimeout(done, 600_000));"
	for n := range maxRestarts + 1 {
		name := fmt.Sprintf("culprit%d", n/maxBlamed)
		if n%maxBlamed == 0 {
			r.write(name+".ts", file(name, "Culprit", waits))
		}
		r.offers(name, "Culprit")
		begun := strings.Count(r.log.String(), "line=begun")
		ended := make(chan tools.Result, 1)
		go func() { ended <- r.call(name, `{}`) }()
		r.eventually("the call begins", func() bool { return strings.Count(r.log.String(), "line=begun") > begun })
		r.kill(syscall.SIGABRT)
		got, leftOut := <-ended, "; "+name+".ts is left out until it changes"
		if !got.IsError || !strings.Contains(got.Text, "may have had effects, and had to be restarted") || strings.Contains(got.Text, leftOut) != (n%maxBlamed == 1) {
			t.Errorf("call %d ends with %s", n, shortened(got))
		}
	}
	r.gives("precious", `{}`, "1")
	r.offers("culprit2", "")
	r.write("culprit0.ts", file("culprit0", "Mended", "return 'mended';"))
	r.offers("culprit0", "Mended")
	if s := r.now(); s.RestartCount != maxRestarts+1 || s.RolledBack != "" {
		t.Errorf("the state is %+v", s)
	}
}

// TestInnocent: where several tools ran when the tool host ended, none is blamed.
func TestInnocent(t *testing.T) {
	t.Parallel()
	r := start(t)
	for _, name := range []string{"one", "two"} {
		r.write(name+".ts", file(name, "Runs", "console.log('begun'); await new Promise((done) => setTimeout(done, 600_000));"))
		r.offers(name, "Runs")
	}
	for n := 1; n <= maxBlamed+1; n++ {
		var calls sync.WaitGroup
		for _, name := range []string{"one", "two"} {
			calls.Go(func() { r.call(name, `{}`) })
		}
		r.eventually("both calls begin", func() bool { return strings.Count(r.log.String(), "line=begun") == 2*n })
		r.kill(syscall.SIGKILL)
		calls.Wait()
		r.offers("one", "Runs")
		r.offers("two", "Runs")
	}
}

// TestFlood: more calls of a tool at once than it may have are refused when they have waited. They are no
// reason to restart the tool host, and other tools go on.
func TestFlood(t *testing.T) {
	t.Parallel()
	r := start(t)
	before := r.now().PID
	var calls sync.WaitGroup
	var carriedOut, refused atomic.Int64
	const sent, longerThanOthersWait = 1100, `{"ms":14000}`
	for range sent {
		calls.Go(func() {
			switch got := r.call("wait_ms", longerThanOthersWait); {
			case !got.IsError:
				carriedOut.Add(1)
			case strings.Contains(got.Text, "too many calls of tools are under way; call it again later"):
				refused.Add(1)
			default:
				t.Errorf("a call ends with %s", shortened(got))
			}
		})
	}
	calls.Go(func() { r.gives("hello_world", `{}`, `{"greeting":"Hello, World!"}`) })
	calls.Wait()
	if carriedOut.Load() < maxCallsOfTool || refused.Load() == 0 || carriedOut.Load()+refused.Load() != sent { // late calls may find room again
		t.Errorf("%d calls were carried out and %d refused", carriedOut.Load(), refused.Load())
	}
	if s := r.now(); s.PID != before || s.RestartCount != 0 {
		t.Errorf("the state is %+v", s)
	}
}

// A fragile handler panics once, at the first record that has a text.
type fragile struct {
	slog.Handler
	text string
	once *sync.Once
}

// Handle implements slog.Handler.
func (f fragile) Handle(ctx context.Context, r slog.Record) error {
	bad := strings.Contains(r.Message, f.text)
	r.Attrs(func(a slog.Attr) bool {
		bad = bad || a.Value.String() == f.text
		return true
	})
	if bad {
		f.once.Do(func() { panic("a fault at " + f.text) })
	}
	return f.Handler.Handle(ctx, r)
}

func fragileAt(text string) func(*Options) {
	return func(o *Options) { o.Log = slog.New(fragile{o.Log.Handler(), text, new(sync.Once)}) }
}

// TestPanicReadingTheLog: a fault in reading what the tool host writes costs one line.
func TestPanicReadingTheLog(t *testing.T) {
	t.Parallel()
	r := start(t, fragileAt("bang"))
	r.write("says.ts", file("says", "Says", "console.log(args.line); return 'said';"))
	r.offers("says", "Says")
	for _, line := range []string{"bang", "boom"} {
		r.gives("says", `{"line":"`+line+`"}`, "said")
	}
	r.eventually("the panic and the next line are logged", func() bool {
		return r.log.has("level=ERROR", "a fault at bang", "stack=") && r.log.has("line=boom")
	})
	if s := r.now(); s.RestartCount != 0 {
		t.Errorf("the state is %+v", s)
	}
}

// TestPanicWatching: a fault in watching the tool host has another one started.
func TestPanicWatching(t *testing.T) {
	t.Parallel()
	r := start(t, fragileAt("the tool host has crashed"))
	for n := 1; n <= 2; n++ {
		r.kill(syscall.SIGKILL)
		r.gives("hello_world", `{}`, `{"greeting":"Hello, World!"}`)
		if s := r.now(); s.RestartCount != n {
			t.Errorf("the state is %+v", s)
		}
	}
	if !r.log.has("level=ERROR", "a fault at the tool host has crashed", "stack=") {
		t.Error("the panic is not logged")
	}
}

// TestPanicTakingOver: a fault in reading the list of tools leaves the tools as they are. If there are none
// yet, the tool host counts as one that does not start.
func TestPanicTakingOver(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	dynamic := r.offer.dynamic
	r.use(nil) // which panics
	r.run()
	r.eventually("the tool host does not start", func() bool { return strings.Contains(r.now().Problem, "internal error while") })
	r.use(dynamic)
	r.gives("worker_restart", `{}`, "Secondary server restarted successfully")

	panics := func() int { return strings.Count(r.log.String(), "recovered from a panic") }
	before := panics()
	r.use(nil)
	r.write("new.ts", file("new", "New", "return 1;"))
	r.eventually("the panic is logged", func() bool { return panics() > before })
	r.gives("hello_world", `{}`, `{"greeting":"Hello, World!"}`)
	r.use(dynamic)
	r.gives("worker_restart", `{}`, "Secondary server restarted successfully")
	r.gives("new", `{}`, "1")
}

// use has the tools of files offered in a list.
func (r *running) use(l *tools.List) {
	r.offer.listing.Lock()
	defer r.offer.listing.Unlock()
	r.offer.dynamic = l
}
