package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/proc"
)

// TestClaudeMisbehavesInATurn has one claude after the other do something that
// it should not. Whatever it is, the message has an outcome that says so, and
// the channel goes on with the same conversation at once.
func TestClaudeMisbehavesInATurn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	for name, c := range map[string]struct {
		text, answer string   // the answer, "" if it fails
		code         string   // of the failure
		words        []string // in what it says
		begun        int      // a turn that was cut twice is not run again by claude
	}{
		"exits with 1":        {text: "die 1", code: "agent_exit", words: []string{"exit status 1", "tried 3 times"}, begun: 2},
		"exits with 0":        {text: "die 0", code: "agent_exit", words: []string{"exit status 0", "tried 3 times"}, begun: 2},
		"is killed":           {text: "kill", code: "agent_exit", words: []string{"killed", "tried 3 times"}, begun: 2},
		"is killed early":     {text: "vanish", code: "agent_exit", words: []string{"killed", "tried 3 times"}, begun: 3},
		"exits once":          {text: "once FILE die 1", answer: "again", begun: 2},
		"is killed once":      {text: "once FILE kill", answer: "again", begun: 2},
		"killed early once":   {text: "once FILE vanish", answer: "again", begun: 2},
		"dies with result":    {text: "resultdie 1", answer: "last words", begun: 1},
		"leaves with result":  {text: "resultdie 0", answer: "last words", begun: 1},
		"says no result":      {text: "noresult it is written", answer: "it is written", begun: 1},
		"says nothing at all": {text: "noresult", code: "interrupted", words: []string{"without an answer", "not run again"}, begun: 1},
		"reaches max turns":   {text: "maxturns", code: "max_turns", words: []string{"limit"}, begun: 1},
		"ends at max turns":   {text: "maxturns 1", code: "max_turns", words: []string{"limit"}, begun: 1},
		"is not logged in":    {text: "notloggedin", code: "not_logged_in", words: []string{"Not logged in", "/login", "run `claude` once", "`claude setup-token`", "CLAUDE_CODE_OAUTH_TOKEN"}, begun: 1},
		"prints rubbish":      {text: "rubbish", answer: "rubbish", begun: 1},
		"prints a long line":  {text: "longline 10000000", answer: "longline 10000000", begun: 1},
		"floods stderr":       {text: "stderr 50000000", answer: "stderr 50000000", begun: 1},
	} {
		for _, warm := range []bool{false, true} {
			channel := name + map[bool]string{false: ", cold", true: ", warm"}[warm]
			t.Run(channel, func(t *testing.T) {
				t.Parallel()
				g := g.in(t)
				var session string
				if warm {
					session = g.say(channel, "session").str("text")
				}
				a := g.say(channel, strings.Replace(c.text, "FILE", m.path(strings.ReplaceAll(channel, " ", "-")), 1))
				if c.code == "" {
					a.want(t, c.answer)
				} else {
					a.failed(t, c.code, c.words...)
				}
				if n := m.begunOn(channel, c.text[:4]); n != c.begun {
					t.Errorf("turn was begun %d times, want %d", n, c.begun)
				}
				if now := g.say(channel, "session").str("text"); warm && now != session {
					t.Errorf("session is %s, before it was %s", now, session)
				}
			})
		}
	}
	t.Cleanup(func() { // when the subtests are done
		g.balanced()
		g.endsAll()
	})
}

func TestClaudeEndsWhileStarting(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"0", "1"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.env = append(m.env, "FAKECLAUDE_START=exit:"+status, "FAKECLAUDE_START_ONCE="+m.path("once"))
			g := m.start()
			g.say("a", "echo 1").failed(t, "agent_start", "while starting", "exit status "+status, "told to exit at start")
			g.usable("a")
			if n := m.begun("echo 1"); n != 0 {
				t.Errorf("turn was begun %d times", n)
			}
			g.endsAll()
		})
	}
}

// TestClaudeIsKilledWhileStarting kills claude before it is ready, as the kernel
// does for want of memory: it had begun nothing, and is started again.
func TestClaudeIsKilledWhileStarting(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "FAKECLAUDE_START=hang")
	m.env = append(m.env, "FAKECLAUDE_START_ONCE="+m.path("once"))
	g := m.start()
	id := g.tell("a", "tool 0 add")
	m.eventually("claude starts", func() bool {
		_, err := os.Stat(m.path("once"))
		return err == nil && m.hosts()["a"].ClaudePID > 0
	})
	h := m.hosts()["a"]
	if err := proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	g.outcome(id).want(t, "final: ran: add")
	if n := m.tools("add"); n != 1 {
		t.Errorf("tool was run %d times", n)
	}
	g.balanced()
	g.endsAll()
}

func TestClaudePrintsRubbishWhileStarting(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "FAKECLAUDE_START=rubbish")
	g := m.start()
	g.usable("a")
	g.endsAll()
}

func TestClaudeDoesNotGetReady(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"noinit", "hang"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "FAKECLAUDE_START="+how, "BARECLAW_START_TIMEOUT=1s")
			m.env = append(m.env, "FAKECLAUDE_START_ONCE="+m.path("once"))
			g := m.start()
			g.say("a", "echo 1").failed(t, "agent_timeout", "BARECLAW_START_TIMEOUT")
			var a answer
			g.eventually("claude starts in so short a time", func() bool {
				a = g.say("a", "echo usable")
				return a.code() != "agent_timeout"
			})
			a.want(t, "usable")
			if n := m.begun("echo 1"); n != 0 {
				t.Errorf("turn was begun %d times", n)
			}
			g.endsAll()
		})
	}
}

// TestClaudeIsMissing has no program, or none that can be run, where claude
// should be. Once there is one, it is used without a restart.
func TestClaudeIsMissing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make  func(path string) error
		words string
	}{
		"missing":        {func(string) error { return nil }, "npm install -g @anthropic-ai/claude-code"},
		"not executable": {func(path string) error { return os.WriteFile(path, []byte("#!/bin/sh\n"), 0o600) }, "not executable"},
		"no program":     {func(path string) error { return os.WriteFile(path, []byte{0x7f, 'E', 'L', 'F'}, 0o700) }, "exec format error"},
		"a directory":    {func(path string) error { return os.Mkdir(path, 0o700) }, "BARECLAW_CLAUDE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "BARECLAW_AGENT=claude")
			path := m.path("claude")
			m.env = append(m.env, "BARECLAW_CLAUDE="+path)
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			g := m.start()
			g.say("a", "echo 1").failed(t, "agent_missing", "BARECLAW_CLAUDE", c.words)
			if err := errors.Join(os.RemoveAll(path), os.Symlink(fakeClaude(t), path)); err != nil {
				t.Fatal(err)
			}
			g.usable("a")
			g.balanced()
			g.endsAll()
		})
	}
}

// TestMaxTurnsWithMessagesWaiting ends a turn at its limit, claude with it, when
// others wait behind it: they run next, in the same session.
func TestMaxTurnsWithMessagesWaiting(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	session := g.say("a", "session").str("text")
	host := m.hosts()["a"]
	m.freeze(host.ClaudePID, host.ClaudeStart)
	limited := g.tell("a", "maxturns 1")
	second, third := g.tell("a", "session"), g.tell("a", "echo third")
	if err := proc.Signal(host.ClaudePID, host.ClaudeStart, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	g.outcome(limited).failed(t, "max_turns", "limit")
	last := g.outcome(third)
	last.want(t, session)
	if a := g.outcome(second); !a.flag("coalesced") || a.str("into") != third || a.str("state") != "answered" {
		t.Errorf("the second message is %s", a.body)
	}
	if now := m.hosts()["a"]; now.ClaudePID == host.ClaudePID {
		t.Error("claude did not end at the limit")
	}
	g.balanced()
	g.endsAll()
}

// TestWorkingDirectoryRemoved takes the directory away that claude works in. It
// also holds the session ids.
func TestWorkingDirectoryRemoved(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, "BARECLAW_SESSION_FILE="+m.path("state/sessions.json"))
	g := m.start()
	g.usable("warm")
	work, aside := m.path("work"), m.path("aside")
	if err := os.Rename(work, aside); err != nil {
		t.Fatal(err)
	}
	g.usable("warm")
	g.say("cold", "echo 1").failed(t, "agent_failed", work, "BARECLAW_CWD")
	if err := os.Rename(aside, work); err != nil {
		t.Fatal(err)
	}
	g.usable("cold")
	g.balanced()
	g.endsAll()
}

// TestWorkingDirectoryWithSessionsRemoved is the same where the session ids are
// kept in that directory: a conversation that can be begun goes on, and its
// reply says that it may not be found again.
func TestWorkingDirectoryWithSessionsRemoved(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	g.usable("warm")
	if err := os.RemoveAll(m.path("work")); err != nil {
		t.Fatal(err)
	}
	g.usable("warm")
	g.say("cold", "echo 1").failed(t, "agent_failed", m.path("work"), "BARECLAW_CWD")
	if err := os.Mkdir(m.path("work"), 0o700); err != nil {
		t.Fatal(err)
	}
	g.usable("cold")
	g.balanced()
	g.endsAll()
	if _, err := os.Stat(filepath.Join(m.path("work"), ".bareclaw-sessions.json")); err != nil {
		t.Errorf("session ids are not kept again: %v", err)
	}
}

// in is the gateway for a subtest.
func (g *gateway) in(t testing.TB) *gateway {
	m := *g.machine
	m.t = t
	sub := *g
	sub.machine = &m
	return &sub
}

// failed fails unless the answer is a failure of that code which says the words.
func (a answer) failed(t testing.TB, code string, words ...string) {
	t.Helper()
	if a.str("state") != "failed" || !a.flag("is_error") || a.str("code") != code {
		t.Errorf("answer is %s, is_error %v, code %q, want a failure with code %q\n%s", a.str("state"), a.flag("is_error"), a.str("code"), code, a.body)
	}
	for _, w := range words {
		if !strings.Contains(a.str("error"), w) || !strings.Contains(a.str("text"), w) {
			t.Errorf("answer says %q (error %q), which lacks %q", a.str("text"), a.str("error"), w)
		}
	}
}

// usable fails unless the channel answers.
func (g *gateway) usable(channel string) {
	g.t.Helper()
	g.say(channel, "echo usable").want(g.t, "usable")
}

// begunOn counts the turns of one channel that were begun with a text that
// contains s.
func (m *machine) begunOn(channel, s string) int {
	m.t.Helper()
	n := 0
	for _, l := range m.journal() {
		prefix, text, _ := strings.Cut(l.Text, "]")
		if l.Event == "begun" && strings.HasPrefix(prefix, "[channel: "+strings.ReplaceAll(channel, ",", ";")+", ") && strings.Contains(text, s) {
			n++
		}
	}
	return n
}

// processes returns all processes that live for this machine: whatever the
// daemons have started, and what those have started, has its journal in the
// environment.
func (m *machine) processes() []proc.Process {
	m.t.Helper()
	found, err := proc.ByEnviron("FAKECLAUDE_LOG", func(v string) bool { return v == m.path("journal") })
	if errors.Is(err, errors.ErrUnsupported) {
		return nil // only the records are looked at there
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return found
}

// nobodyLeft fails if a process of the machine runs, and ends it.
func (m *machine) nobodyLeft() {
	m.t.Helper()
	for _, p := range m.processes() {
		cmdline, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "cmdline"))
		m.t.Errorf("process %d is left: %q", p.PID, cmdline)
		_ = proc.Signal(p.PID, p.Start, syscall.SIGKILL)
	}
	if hosts := m.hosts(); len(hosts) != 0 {
		m.t.Errorf("hosts are left: %v", hosts)
	}
}

// freeze stops a process and returns when each of its threads has stopped.
func (m *machine) freeze(pid int, start uint64) {
	m.t.Helper()
	if err := proc.Signal(pid, start, syscall.SIGSTOP); err != nil {
		m.t.Fatal(err)
	}
	m.eventually("process stops", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // none where there is no /proc
		for _, file := range threads {
			b, _ := os.ReadFile(file)
			if i := bytes.LastIndexByte(b, ')'); i < 0 || !bytes.HasPrefix(b[i:], []byte(") T ")) {
				return false
			}
		}
		return true
	})
}

// endsAll ends the daemon as Ctrl-C does, and fails unless all is gone then.
func (g *gateway) endsAll() {
	g.t.Helper()
	g.signal(syscall.SIGINT)
	g.nobodyLeft()
}
