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

// A toolUser makes and calls tools, as a session does.
type toolUser struct{ *harness.Gateway }

// make makes a tool with the given permissions.
func (u toolUser) make(name, code string, permissions ...string) {
	u.T.Helper()
	a := u.call("dynamic_tool_create", harness.Obj{"name": name, "description": name, "schema": harness.Obj{"type": "object"}, "code": code, "permissions": append([]string{}, permissions...)})
	if a.JSON["isError"] == true {
		u.T.Fatalf("%s is not made: %s", name, a.Body)
	}
}

func (u toolUser) call(name string, args harness.Obj) harness.Answer {
	u.T.Helper()
	return u.Must("POST", "/toolhost/call", harness.Obj{"tool": name, "args": args}, 200)
}

// host returns what GET /health says of the tool host, once one runs.
func (u toolUser) host() (host map[string]any) {
	u.T.Helper()
	u.Eventually("the tool host runs", func() bool {
		tools, _ := u.Must("GET", "/health", nil, 200).JSON["tools"].(map[string]any)
		host, _ = tools["host"].(map[string]any)
		return host["healthy"] == true
	})
	return host
}

// TestToolBreaksTheLanguage: a tool that changes the language below the gateway's own script costs its
// calls, and nobody else's tools, however often it is called.
func TestToolBreaksTheLanguage(t *testing.T) {
	_, g := harness.Started(t)
	u := toolUser{g}
	before := u.host()
	u.make("precious", "return 'precious'")
	u.make("hostile", "Array.prototype[Symbol.iterator] = function () { return { next() { return { done: true } } } }; await fs.readFile('/x')", "filesystem")
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
