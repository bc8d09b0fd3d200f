package sessionhost

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
	"bareclaw/sessionhost/claude"
)

// program has the station run a file of its own, a link to the scripted claude at first.
func (st *station) program() (path string, restore func()) {
	st.t.Helper()
	fake, err := built.fake()
	check.OK(st.t, err)
	path = st.path("bin-claude")
	restore = func() {
		st.t.Helper()
		_ = os.Remove(path)
		check.OK(st.t, os.Symlink(fake, path))
	}
	restore()
	st.o.Program = func() ([]string, error) {
		if _, err := os.Stat(path); err != nil {
			return nil, &core.AgentError{Code: core.CodeAgentMissing, Text: "Claude Code was not found."}
		}
		return []string{path}, nil
	}
	return path, restore
}

// outcome starts a session and returns why a later start may succeed, and how this one failed:
// both are empty if it did not.
func (st *station) outcome(h *Hosts) (wait, code string) {
	st.t.Helper()
	s, err := h.Start(st.t.Context(), "c", core.Launch{SessionID: newID(st.t)})
	if agent, ok := errors.AsType[*core.AgentError](err); ok {
		return agent.Wait, agent.Code
	}
	check.OK(st.t, err)
	l := st.listen(s)
	for {
		switch ev, ok := l.next(); {
		case !ok:
			st.t.Fatal("the session ended without an exit")
		case ev.Kind == core.Readied:
			check.OK(st.t, l.Stop(core.StopNow))
			l.rest()
			return "", ""
		case ev.Kind == core.Exited:
			l.Ack(ev.Seq)
			if ev.Exit.Wait != "" && ev.Exit.Reason != core.ExitStartFailed {
				st.t.Errorf("exit %+v", ev.Exit)
			}
			return ev.Exit.Wait, ev.Exit.Code
		}
	}
}

// TestClaudeIsAway: a claude that has worked and is missing, cut or empty is being updated, also
// for the next daemon; one that never worked is not, nor is one that is still the same file.
func TestClaudeIsAway(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"missing":        os.Remove,
		"empty":          func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o700)) },
		"cut":            func(path string) error { return cut(path, 4000) },
		"not executable": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, []byte("x"), 0o600)) },
		"a script that fails": func(path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, []byte("#!/bin/sh\nexit 1\n"), 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStation(t)
			path, restore := st.program()
			check.OK(t, damage(path))
			if wait, code := st.outcome(st.hosts()); wait != "" || code == "" {
				t.Errorf("a claude that never worked: %q, %q", wait, code)
			}
			restore()
			h := st.hosts()
			if wait, code := st.outcome(h); code != "" {
				t.Fatalf("%q, %q", wait, code)
			}
			st.eventually("what worked is on record", func() bool { return st.exists("state/hosts/claude.last") })
			check.OK(t, damage(path))
			for _, h := range []*Hosts{h, st.hosts()} {
				if wait, code := st.outcome(h); !strings.Contains(wait, "being updated") {
					t.Errorf("%q, %q", wait, code)
				}
			}
			restore()
			if wait, code := st.outcome(h); code != "" {
				t.Errorf("when it is back: %q, %q", wait, code)
			}
		})
	}
}

// cut replaces a link by the beginning of its file.
func cut(path string, n int) error {
	whole, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return errors.Join(os.Remove(path), os.WriteFile(path, whole[:n], 0o700))
}

func TestTheSameClaudeThatFailsIsNotAway(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	path := st.path("claude-script")
	fake, err := built.fake()
	check.OK(t, err)
	check.OK(t, os.WriteFile(path, []byte("#!/bin/sh\n[ -e "+st.path("bad")+" ] && exit 1\nexec "+fake+" \"$@\"\n"), 0o700))
	st.o.Program = func() ([]string, error) { return []string{path}, nil }
	h := st.hosts()
	if wait, code := st.outcome(h); code != "" {
		t.Fatalf("%q, %q", wait, code)
	}
	st.touch("bad")
	if wait, code := st.outcome(h); wait != "" || code != core.CodeAgentStart {
		t.Errorf("%q, %q", wait, code)
	}
}

// TestAbsenceEnds: after two minutes a claude that cannot be started is broken, until it works.
func TestAbsenceEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p := newPresence(filepath.Join(dir, "last"), slog.New(slog.DiscardHandler))
		gone := &core.AgentError{Code: core.CodeAgentMissing, Text: "gone"}
		held := func() bool { return p.waitAfter(gone) != "" }
		if held() {
			t.Error("a claude that was never seen is waited for")
		}
		p.ready(programFile{1, 1}, "2.1.332")
		synctest.Wait()
		for began := time.Now(); time.Since(began) < absentFor; time.Sleep(10 * time.Second) {
			if !held() {
				t.Errorf("given up after %s", time.Since(began))
			}
		}
		for range 3 {
			if held() {
				t.Error("still waited for")
			}
			time.Sleep(time.Hour)
		}
		p.ready(programFile{2, 2}, "2.1.333")
		synctest.Wait()
		if !held() {
			t.Error("a claude that worked again is not waited for")
		}
		time.Sleep(time.Hour) // nobody has asked meanwhile
		if !held() {
			t.Error("an absence of long ago counts")
		}
		if v := newPresence(p.path, p.log).versionOf(programFile{2, 2}); v != "2.1.333" {
			t.Errorf("on record is %q", v)
		}
	})
}

// TestTheMachineLacksSomething: a start that fails for want of room is tried again, even if no
// claude was ever seen.
func TestTheMachineLacksSomething(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	lacks := true
	fake := st.o.Program
	st.o.Program = func() ([]string, error) {
		if lacks {
			return nil, fmt.Errorf("look: %w", &os.PathError{Op: "open", Path: "x", Err: syscall.EMFILE})
		}
		return fake()
	}
	h := st.hosts()
	if wait, _ := st.outcome(h); !strings.Contains(wait, "too many open files") {
		t.Errorf("waits for %q", wait)
	}
	lacks = false
	if wait, code := st.outcome(h); code != "" {
		t.Errorf("%q, %q", wait, code)
	}
	for _, e := range []claude.Exit{
		{Status: -1, Error: "fork/exec /usr/bin/claude: " + syscall.ENOMEM.Error()}, {Status: -1, Error: "pipe2: " + syscall.ENFILE.Error()},
		{Status: 1, Stderr: "Error: ENOSPC: no space left on device, write"}, {Status: 1, Stderr: "EMFILE: too many open files, open '/x'"},
	} {
		if x := h.presence.exit(&e, programFile{}, programFile{}); x.Wait == "" || x.Reason != core.ExitStartFailed {
			t.Errorf("%+v: %+v", e, x)
		}
	}
	for _, e := range []claude.Exit{{Ready: true, Status: 1, Stderr: "ENOSPC: no space left"}, {Status: 1, Stderr: "No conversation found with session ID: x"}} {
		if x := h.presence.exit(&e, programFile{}, programFile{}); x.Wait != "" {
			t.Errorf("%+v: %+v", e, x)
		}
	}
}
