package mounts

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/oddserver"
)

// statusOf returns how a server does.
func (p *gatewayProcess) statusOf(name string) Status {
	p.t.Helper()
	all, _ := p.room.Status()
	for _, s := range all {
		if s.Name == name {
			return s
		}
	}
	p.t.Fatalf("there is no server %s", name)
	return Status{}
}

// TestServerRunsWhileCalled: a server is started once to learn its tools, again for a call, ends when nobody
// uses it, and need not run to be offered by the next process of the gateway.
func TestServerRunsWhileCalled(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mount("odd", func(s *Server) { s.Idle = Duration(time.Second) })
	p := h.start()
	p.awaitTools("odd_act", "odd_read")
	isIdle := func() bool { return p.statusOf("odd").State == StateIdle }
	p.await("the server ends once its tools are known", isIdle)
	if text, failed := p.call("odd_read", oddserver.Args{Text: "hello"}); failed || text != "hello" {
		t.Errorf("the tool says %q, failed: %t", text, failed)
	}
	if s := p.statusOf("odd"); s.State != StateRunning || s.Starts != 2 || s.Calls != 1 || len(s.Instances) != 1 || s.Instances[0].PID == 0 {
		t.Errorf("the server does %+v", s)
	}
	p.await("the server ends when it is idle", isIdle)
	p.stop()

	p = h.start()
	if _, known := p.registry.Find("odd_act"); !known || p.statusOf("odd").Starts != 0 {
		t.Errorf("the next process does not know the tools: %+v", p.statusOf("odd"))
	}
	if text, failed := p.call("odd_read", oddserver.Args{Text: "again"}); failed || text != "again" {
		t.Errorf("the tool says %q, failed: %t", text, failed)
	}
}

// TestServersEnd: with the gateway ends what its servers have started, whatever they do against it.
func TestServersEnd(t *testing.T) {
	t.Parallel()
	for name, modes := range map[string]func(file string) []string{
		"child in its group":    func(file string) []string { return []string{"fork=" + file} },
		"child in a session":    func(file string) []string { return []string{"leave=" + file} },
		"stubborn with a child": func(file string) []string { return []string{"stubborn", "leave=" + file} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			file := filepath.Join(h.dir, "child")
			h.mount("odd", nil, modes(file)...)
			p := h.start()
			p.awaitTools("odd_read")
			text, failed := p.call("odd_read", oddserver.Args{Action: "process"})
			server, err := strconv.Atoi(text)
			if failed || err != nil {
				t.Fatalf("the tool says %q", text)
			}
			words, err := os.ReadFile(file)
			check.OK(t, err)
			child, err := strconv.Atoi(strings.TrimSpace(string(words)))
			check.OK(t, err)
			p.stop()
			for _, pid := range []int{server, child} {
				if _, err := proc.StartTime(pid); err == nil {
					t.Errorf("process %d still runs", pid)
				}
			}
		})
	}
}

// TestEnvironment: a server sees what its description names, and no secret of the gateway.
func TestEnvironment(t *testing.T) {
	t.Setenv("BARECLAW_HTTP_TOKEN", "secret-of-the-gateway")
	t.Setenv("SERVICE_TOKEN", "secret-of-the-service")
	h := newHouse(t)
	h.mount("odd", func(s *Server) { s.Env = map[string]string{"TOKEN": "${SERVICE_TOKEN}", "MODE": "${UNSET:-plain}"} })
	p := h.start()
	p.awaitTools("odd_read")
	text, _ := p.call("odd_read", oddserver.Args{Action: "environment"})
	var names []string
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		names = append(names, name)
		if want, known := map[string]string{"TOKEN": "secret-of-the-service", "MODE": "plain"}[name]; known && value != want {
			t.Errorf("%s is %q", name, value)
		}
		switch name {
		case "PATH", "HOME", "LANG", "TZ", "TMPDIR", "TOKEN", "MODE", MarkVariable:
		default:
			t.Errorf("the server sees %s", name)
		}
	}
	if !strings.Contains(strings.Join(names, " "), "TOKEN") {
		t.Errorf("the server sees only %v", names)
	}
}

// TestCallersHaveInstances: channels share a server, unless it is one for each caller.
func TestCallersHaveInstances(t *testing.T) {
	t.Parallel()
	for scope, own := range map[Scope]bool{Shared: false, PerCaller: true} {
		h := newHouse(t)
		h.mount("odd", func(s *Server) { s.Scope = scope })
		p := h.start()
		p.awaitTools("odd_read")
		one, _ := p.call("odd_read", oddserver.Args{Action: "process"}, "desk")
		other, _ := p.call("odd_read", oddserver.Args{Action: "process"}, "phone")
		again, _ := p.call("odd_read", oddserver.Args{Action: "process"}, "desk")
		if one == "" || again != one || (one == other) == own {
			t.Errorf("scope %s: the processes are %s, %s and %s", scope, one, other, again)
		}
	}
}

// TestFileIsFollowed: servers are mounted, changed and taken away while calls run, and a file that cannot be read
// changes nothing.
func TestFileIsFollowed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mount("odd", nil)
	p := h.start()
	p.awaitTools("odd_read")
	release := filepath.Join(h.dir, "release")
	type answer struct {
		text   string
		failed bool
	}
	answered := make(chan answer, 1)
	go func() {
		text, failed := p.call("odd_read", oddserver.Args{Action: "wait", File: release, Text: "waited"})
		answered <- answer{text, failed}
	}()
	p.await("the call runs", func() bool {
		s := p.statusOf("odd")
		return len(s.Instances) == 1 && s.Instances[0].Calls == 1
	})
	h.mount("odd", func(s *Server) { s.Prefix = new(string) })
	p.awaitTools("read")
	if _, known := p.registry.Find("odd_read"); known {
		t.Error("the tool has its name of before, too")
	}
	check.OK(t, os.WriteFile(release, nil, 0o600))
	if a := <-answered; a.failed || a.text != "waited" {
		t.Errorf("the call that ran meanwhile says %q", a.text)
	}

	check.OK(t, os.WriteFile(h.path, []byte(`{"mcpServers":{`), 0o600))
	p.await("the file's fault is told", func() bool { _, problem := p.room.Status(); return problem != "" })
	if text, failed := p.call("read", oddserver.Args{Text: "still"}); failed || text != "still" {
		t.Errorf("with a broken file the tool says %q", text)
	}
	check.OK(t, os.WriteFile(h.path, []byte(`{"mcpServers":{}}`), 0o600))
	p.await("the server is taken away", func() bool { _, known := p.registry.Find("read"); return !known })
	p.await("what it has listed is forgotten", func() bool {
		all, err := h.records.Records(t.Context(), recordOwner, "")
		return err == nil && len(all) == 0
	})
}

// TestBagsAreFollowed: the registry has the bags of the file, as the file says now.
func TestBagsAreFollowed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	write := func(text string) { check.OK(t, os.WriteFile(h.path, []byte(text), 0o600)) }
	write(`{"mcpServers":{},"bags":{"mine":["tool_*"]}}`)
	p := h.start()
	bag, ok := p.registry.Bag("mine")
	if !ok || bag.MayHave("other") {
		t.Fatalf("the bag is %v, %v", bag, ok)
	}
	p.await("the bag is changed", func() bool {
		write(`{"mcpServers":{},"bags":{"mine":["other"],"utility":["*"]}}`) // again, should Run not have looked yet
		return bag.MayHave("other")
	})
	write(`{"mcpServers":{}}`)
	p.await("the bag is taken away", func() bool {
		_, ok := p.registry.Bag("mine")
		return !ok
	})
}

// TestRemovedWhileStarting: a server that is taken out while it starts ends at once.
func TestRemovedWhileStarting(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	read := filepath.Join(h.dir, "read")
	h.mount("odd", nil, "hang=initialize", "record="+read)
	p := h.start()
	p.await("the server is asked to begin", func() bool {
		text, err := os.ReadFile(read)
		return err == nil && len(text) > 0
	})
	check.OK(t, os.WriteFile(h.path, []byte(`{"mcpServers":{}}`), 0o600))
	p.await("the server has ended", func() bool {
		left, err := proc.ByEnviron(MarkVariable, func(value string) bool { return strings.HasPrefix(value, p.room.mark.String()+".") })
		return err == nil && len(left) == 0
	})
}

// TestCallOutlivesEditDuringStart: a call that waits for its server to start is carried out, though the server is
// taken out of the file meanwhile.
func TestCallOutlivesEditDuringStart(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	once := filepath.Join(h.dir, "once")
	read := filepath.Join(h.dir, "read")
	check.OK(t, os.WriteFile(once, nil, 0o600))
	h.mount("odd", nil, "once="+once, "hang=server/discover", "record="+read) // quick until the file is gone
	p := h.start()
	p.awaitTools("odd_read")
	p.await("the server rests", func() bool { return p.statusOf("odd").State == StateIdle })
	check.OK(t, os.Remove(once))
	answered := make(chan string, 1)
	go func() {
		text, _ := p.call("odd_read", oddserver.Args{Text: "carried out"})
		answered <- text
	}()
	p.await("the server starts", func() bool {
		_, err := os.Stat(read)
		return err == nil
	})
	check.OK(t, os.WriteFile(h.path, []byte(`{"mcpServers":{}}`), 0o600))
	p.await("the server is taken out", func() bool { _, known := p.registry.Find("odd_read"); return !known })
	if text := <-answered; text != "carried out" {
		t.Errorf("the call says %q", text)
	}
}
