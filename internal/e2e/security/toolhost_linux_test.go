package security

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// TestToolBreaksTheLanguage: a tool that changes the language below the gateway's own script costs its
// calls, and nobody else's tools, however often it is called.
func TestToolBreaksTheLanguage(t *testing.T) {
	_, g := harness.Started(t)
	u := toolUser{g}
	before := u.host()
	u.make("precious", "return 'precious'")
	u.make("hostile", "void fs; Array.prototype[Symbol.iterator] = function () { return { next() { return { done: true } } } }; return await fs.readFile('/x')", "filesystem")
	for range 6 {
		if a := u.call("hostile", harness.Obj{}); a.JSON["isError"] != true {
			t.Errorf("the call ends with %s", a.Body)
		}
	}
	if a := u.call("precious", harness.Obj{}); !strings.Contains(string(a.Body), `"precious"`) {
		t.Errorf("precious: %s", a.Body)
	}
	if now := u.host(); now["pid"] != before["pid"] || now["restarts"] != 0.0 {
		t.Errorf("the tool host is %v, and was %v", now, before)
	}
}

// TestToolHostAlone: nobody can connect to the tool host, and the kernel filters the system calls of all its
// threads. It has three connections and nothing else of the daemon's. What the filter refuses is
// tried in toolhost/runner.
func TestToolHostAlone(t *testing.T) {
	m, g := harness.Started(t)
	pid := int(toolUser{g}.host()["pid"].(float64))
	for _, path := range m.Glob("run/*") {
		if strings.Contains(path, "tool") && strings.HasSuffix(path, ".sock") || strings.Contains(path, "functions") {
			t.Errorf("the runtime directory has %s", path)
		}
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	check.OK(t, err)
	for _, path := range threads {
		b, err := os.ReadFile(path)
		if err == nil && (!strings.Contains(string(b), "Seccomp:\t2\n") || !strings.Contains(string(b), "NoNewPrivs:\t1\n")) { // a thread may have ended
			t.Errorf("a thread is not confined:\n%s", b)
		}
	}
	kinds := map[string]int{}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	check.OK(t, err)
	for _, fd := range fds {
		to, err := os.Readlink(fd)
		check.OK(t, err)
		kind, _, _ := strings.Cut(to, ":")
		kinds[kind]++
	}
	if want := 3; kinds["socket"] != want {
		t.Errorf("there are %d sockets, want %d: %v", kinds["socket"], want, kinds)
	}
}
