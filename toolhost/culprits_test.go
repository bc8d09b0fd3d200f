package toolhost

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
)

// endless is code that the engine cannot interrupt.
const endless = "'a'.repeat(2e6).indexOf('a'.repeat(1e6) + 'b');"

// TestStuck: a tool that cannot be interrupted costs the process, and nobody else's tools or results, however often that
// is. That counts as no crash. The second time its file is left out, until it changes or worker_restart is called, and
// callers are told why.
func TestStuck(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.gives("dynamic_tool_create", creation(t, "precious", "return 1"), `Tool 'precious' created successfully. Call it now: tool_call with name "precious".`)
	const named = "could not be interrupted after its time limit; the tool host was restarted"
	for n := range maxRestarts + 1 {
		name, last := fmt.Sprintf("stuck%d", n/maxBlamed), n%maxBlamed == maxBlamed-1
		if !last {
			r.write(name+".ts", fileWith(name, "Stuck", "timeoutMs: 100,", "console.log('begun'); "+endless+" return 1;"))
		}
		r.offers(name, "Stuck")
		before := r.now().PID
		got := r.call(name, `{}`)
		if !got.IsError || !strings.Contains(got.Text, "the tool "+name+" "+named) || strings.Contains(got.Text, name+".ts is left out until it changes or worker_restart is called") != last {
			t.Errorf("call %d ends with %s", n, shortened(got))
		}
		r.eventually("another process", func() bool { s := r.now(); return s.PID != before && s.Healthy })
		r.gives("precious", `{}`, "1")
	}
	if s := r.now(); s.RestartCount != 0 || s.Crashes != 0 || s.RolledBack != "" {
		t.Errorf("the state is %+v", s)
	}
	if !r.log.has("level=ERROR", "a script does not stop", "tool=stuck0") || !r.log.has("a tool could not be interrupted", "tool=stuck0") {
		t.Error("nothing is logged")
	}
	r.offers("stuck0", "")
	r.refuses(tools.CallName, `{"name":"stuck0"}`, `there is no tool "stuck0" now. Its file is not loaded: stuck0.ts: its code could twice not be interrupted`, "worker_restart")
	r.write("stuck0.ts", file("stuck0", "Mended", "return 'mended';"))
	r.offers("stuck0", "Mended")
	r.gives("stuck0", `{}`, "mended")
	r.offers("stuck1", "")
	r.gives("worker_restart", `{}`, "Secondary server restarted successfully")
	r.offers("stuck1", "Stuck")
}

// TestStuckElsewhere: a call that another tool's end of the tool host cuts is told which tool that was. One that may
// run again does.
func TestStuckElsewhere(t *testing.T) {
	t.Parallel()
	r := start(t)
	const waits = "if (args.wait) { console.log('begun'); await new Promise((done) => setTimeout(done, args.wait)); } return 'done';"
	r.write("acts.ts", file("acts", "Acts", waits))
	r.write("reads.ts", fileWith("reads", "Reads", "annotations: { readOnlyHint: true },", waits))
	r.write("stuck.ts", fileWith("stuck", "Stuck", "timeoutMs: 100,", endless+" return 1;"))
	for _, name := range []string{"Acts", "Reads", "Stuck"} {
		r.offers(strings.ToLower(name), name)
	}
	var calls sync.WaitGroup
	calls.Go(func() {
		r.refuses("acts", `{"wait":600000}`, "the tool host was restarted during the call of acts, which may have had effects, because the tool stuck could not be interrupted")
	})
	calls.Go(func() { r.gives("reads", `{"wait":12000}`, "done") })
	r.eventually("both calls begin", func() bool { return strings.Count(r.log.String(), "line=begun") == 2 })
	r.refuses("stuck", `{}`, "the tool stuck could not be interrupted")
	calls.Wait()
	r.offers("acts", "Acts") // which nobody blames
}

// TestPausesEnd: worker_restart makes the pauses after crashes short again.
func TestPausesEnd(t *testing.T) {
	t.Parallel()
	r := start(t)
	for range 3 {
		r.kill(syscall.SIGKILL)
	}
	r.eventually("the pauses grow", func() bool { return r.log.has("the tool host has crashed", "pause=100ms") })
	r.gives("worker_restart", `{}`, "Secondary server restarted successfully")
	first := func() int { return strings.Count(r.log.String(), "pause=0s") }
	before := first()
	r.kill(syscall.SIGKILL)
	r.eventually("the first pause again", func() bool { return first() == before+1 })
}

// TestCrashingCode: where the tool host ends while it checks code, whoever wanted a tool of it is told, and nobody
// loses a tool.
func TestCrashingCode(t *testing.T) {
	t.Parallel()
	r := start(t)
	before, _ := r.state.now()
	made := make(chan tools.Result, 1)
	go func() {
		made <- r.call("dynamic_tool_create", creation(t, "bang", "return ["+strings.Repeat("[1],", 250_000)+"]"))
	}()
	r.eventually("the check begins", func() bool { _, busy := before.calls.culprit(); return busy })
	check.OK(t, syscall.Kill(before.pid, syscall.SIGABRT))
	if got := <-made; !got.IsError || !strings.Contains(got.Text, "code: nothing was made, because the tool host ended while it checked the code") || !strings.Contains(got.Text, "the code may be the cause") {
		t.Error(shortened(got))
	}
	r.gives("hello_world", `{}`, `{"greeting":"Hello, World!"}`)
}

// TestNestedCode: code that is nested beyond reason is refused, and ends no tool host.
func TestNestedCode(t *testing.T) {
	t.Parallel()
	r := start(t)
	before := r.now().PID
	for _, nested := range []string{"!", "typeof ", "a=>", "2**", "1?1:", "("} {
		r.refuses("dynamic_tool_create", creation(t, "bang", "return "+strings.Repeat(nested, 200_000/len(nested))+"1"), "code:1:", "inside of each other")
	}
	if s := r.now(); s.PID != before || s.RestartCount != 0 {
		t.Errorf("the state is %+v", s)
	}
}

// TestCrashingFiles: files that crash whoever loads them cost themselves only, until they change; nothing is rolled
// back, however many there are. An earlier version of such a file serves.
func TestCrashingFiles(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	r.write("a.ts", file("a", "first", "return 'a';"))
	for i := range 3 {
		r.write(fmt.Sprintf("bang%d.ts", i), crashing)
	}
	r.write("c.ts", file("c", "last", "return 'c';"))
	r.run()
	r.offers("a", "first")
	r.offers("c", "last")
	r.gives("c", `{}`, "c")
	if s := r.now(); s.RestartCount != 3*maxBlamed || s.RolledBack != "" || !strings.Contains(r.lastError(), "bang0.ts: the tool host has ended twice while it loaded or ran this file; the file is left out until it changes") {
		t.Errorf("the state is %+v, %s", s, r.lastError())
	}
	r.refuses(tools.CallName, `{"name":"bang0"}`, `there is no tool "bang0" now. Its file is not loaded: bang0.ts: the tool host has ended twice`)
	for i := range 3 {
		r.write(fmt.Sprintf("bang%d.ts", i), file(fmt.Sprintf("bang%d", i), "mended", "return 'bang';"))
		r.offers(fmt.Sprintf("bang%d", i), "mended")
	}
	if problem := r.lastError(); problem != "" {
		t.Errorf("lastError is %s", problem)
	}
	r.kept("bang0.ts", "mended")
	r.write("bang0.ts", crashing)
	r.eventually("the file is left out again", func() bool { return strings.Contains(r.lastError(), "bang0.ts") })
	r.gives("bang0", `{}`, "bang")
}
