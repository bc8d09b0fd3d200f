package crash

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// TestClaudeMisbehavesInATurn has one claude after the other do something that
// it should not. Whatever it is, the message has an outcome that says so, and
// the channel goes on with the same conversation at once.
func TestClaudeMisbehavesInATurn(t *testing.T) {
	m, g := harness.Started(t)
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
		"is not logged in":    {text: "notloggedin", code: "not_logged_in", words: []string{"This message was not answered", "Not logged in", "run `claude` once", "`claude setup-token`", "`CLAUDE_CODE_OAUTH_TOKEN=…`", "`bareclaw restart`", "`bareclaw retry "}, begun: 1},
		"prints rubbish":      {text: "rubbish", answer: "rubbish", begun: 1},
		"prints a long line":  {text: "longline 10000000", answer: "longline 10000000", begun: 1},
		"floods stderr":       {text: "stderr 50000000", answer: "stderr 50000000", begun: 1},
	} {
		for _, warm := range []bool{false, true} {
			channel := name + map[bool]string{false: ", cold", true: ", warm"}[warm]
			t.Run(channel, func(t *testing.T) {
				t.Parallel()
				g := in(g, t)
				var session string
				if warm {
					session = g.Say(channel, "session").Str("text")
				}
				a := g.Say(channel, strings.Replace(c.text, "FILE", m.Path(strings.ReplaceAll(channel, " ", "-")), 1))
				if c.code == "" {
					a.Want(t, c.answer)
				} else {
					a.Failed(t, c.code, c.words...)
				}
				if n := m.BegunOn(channel, c.text[:4]); n != c.begun {
					t.Errorf("turn was begun %d times, want %d", n, c.begun)
				}
				if now := g.Say(channel, "session").Str("text"); warm && now != session {
					t.Errorf("session is %s, before it was %s", now, session)
				}
			})
		}
	}
	t.Cleanup(func() { // when the subtests are done
		g.Balanced()
		g.EndsAll()
	})
}

// TestClaudeIsKilledWhileStarting kills claude before it is ready, as the kernel
// does for want of memory: it had begun nothing, and is started again.
func TestClaudeIsKilledWhileStarting(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "FAKECLAUDE_START=hang")
	m.Env = append(m.Env, "FAKECLAUDE_START_ONCE="+m.Path("once"))
	g := m.Start()
	id := g.Tell("a", "tool 0 add")
	m.Eventually("claude starts", func() bool {
		_, err := os.Stat(m.Path("once"))
		return err == nil && m.Hosts()["a"].ClaudePID > 0
	})
	h := m.Hosts()["a"]
	check.OK(t, proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL))
	g.Outcome(id).Want(t, "final: ran: add")
	if n := tools(m, "add"); n != 1 {
		t.Errorf("tool was run %d times", n)
	}
	g.Balanced()
	g.EndsAll()
}

func TestClaudePrintsRubbishWhileStarting(t *testing.T) {
	_, g := harness.Started(t, "FAKECLAUDE_START=rubbish")
	g.Usable("a")
	g.EndsAll()
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
			m := harness.NewMachine(t, "BARECLAW_AGENT=claude")
			path := m.Path("claude")
			m.Env = append(m.Env, "BARECLAW_CLAUDE="+path)
			check.OK(t, c.make(path))
			g := m.Start()
			g.Say("a", "echo 1").Failed(t, "agent_missing", "BARECLAW_CLAUDE", c.words)
			check.OK(t, errors.Join(os.RemoveAll(path), os.Symlink(harness.FakeClaude(t), path)))
			g.Usable("a")
			g.Balanced()
			g.EndsAll()
		})
	}
}

// TestClaudeIsAway takes away, cuts off or empties the claude of a gateway that has seen it work, as
// an update does. What comes meanwhile waits, also through a restart, and runs once.
func TestClaudeIsAway(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"missing": os.Remove,
		"empty":   func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o700)) },
		"cut": func(path string) error {
			whole, err := os.ReadFile(path)
			return errors.Join(err, os.Remove(path), os.WriteFile(path, whole[:4000], 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t, "BARECLAW_AGENT=claude")
			path := m.Path("claude-link")
			m.Env = append(m.Env, "BARECLAW_CLAUDE="+path)
			link := func() {
				check.OK(t, errors.Join(os.RemoveAll(path), os.Symlink(harness.FakeClaude(t), path)))
			}
			link()
			g := m.Start()
			g.Usable("warm")
			m.Eventually("what worked is on record", func() bool {
				_, err := os.Stat(m.Path("state/hosts/claude.last"))
				return err == nil
			})
			check.OK(t, damage(path))
			g.Usable("warm") // its session goes on
			ids := []string{g.Tell("a", "tool 0 one"), g.Tell("b", "tool 0 two")}
			waits := func() bool {
				return strings.Contains(g.Channel("a").Str("why"), "being updated") && strings.Contains(g.Channel("b").Str("why"), "being updated")
			}
			m.Eventually("it is said what they wait for", waits)
			g.Kill()
			g = m.Start()
			m.Eventually("they wait again", waits)
			if open := g.Must("GET", "/messages/"+ids[0], nil, 200); open.Str("state") != "running" {
				t.Errorf("the message is %s", open.Body)
			}
			link()
			g.Outcome(ids[0]).Want(t, "final: ran: one")
			g.Outcome(ids[1]).Want(t, "final: ran: two")
			if tools(m, "one") != 1 || tools(m, "two") != 1 {
				t.Error("a turn ran twice")
			}
			g.Balanced()
			g.EndsAll()
		})
	}
}

// TestWorkingDirectoryRemoved takes the directory away that claude works in, and that holds the
// session ids: a conversation that has begun goes on, and others begin once it is there again.
func TestWorkingDirectoryRemoved(t *testing.T) {
	m, g := harness.Started(t)
	g.Usable("warm")
	check.OK(t, os.RemoveAll(m.Path("work")))
	g.Usable("warm")
	g.Say("cold", "echo 1").Failed(t, "agent_failed", m.Path("work"), "BARECLAW_CWD")
	check.OK(t, os.Mkdir(m.Path("work"), 0o700))
	g.Usable("cold")
	g.Balanced()
	g.EndsAll()
	if _, err := os.Stat(filepath.Join(m.Path("work"), ".bareclaw-sessions.json")); err != nil {
		t.Errorf("session ids are not kept again: %v", err)
	}
}

// in is the gateway for a subtest.
func in(g *harness.Gateway, t testing.TB) *harness.Gateway {
	m := *g.Machine
	m.T = t
	sub := *g
	sub.Machine = &m
	return &sub
}
