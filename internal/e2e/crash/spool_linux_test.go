package crash

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// More than a session host keeps in memory.
const muchBytes = 300_000

// write is a call of a tool that takes so much, and done is what comes of it.
var (
	write = `Write {"content":"` + strings.Repeat("x", muchBytes) + `"}`
	done  = "final: allowed " + write
)

// A scene is a turn, or several, that meet a full disk.
type scene struct {
	*harness.Gateway
	free   func()            // makes room
	goOn   func()            // lets claude say what there is no room for
	wanted map[string]string // what becomes of the messages, by id
	asks   bool              // it has to be allowed to use a tool
	once   bool              // claude has done what it does not do again by itself
	last   string            // the message of the turn that stands still
	apart  int               // further messages, which were accepted and are looked at elsewhere
}

// The moments at which the disk becomes full.
var moments = map[string]func(g *harness.Gateway) *scene{
	"before a turn's first event": func(g *harness.Gateway) *scene {
		claude := stopClaude(g, "c")
		id := g.Tell("c", fmt.Sprintf("big %d", muchBytes))
		return &scene{free: sync.OnceFunc(g.Fill("state")), goOn: claude, wanted: map[string]string{id: strings.Repeat("x", muchBytes)}}
	},
	"in a long answer": func(g *harness.Gateway) *scene {
		id := g.Tell("c", "parts "+g.Path("go")+" 60")
		g.Eventually("the turn runs", func() bool { return g.Begun("parts") == 1 })
		return &scene{free: sync.OnceFunc(g.Fill("state")), goOn: func() { g.Touch("go") }, wanted: map[string]string{id: "60 parts"}, once: true}
	},
	"before a permission is asked": func(g *harness.Gateway) *scene {
		claude := stopClaude(g, "c")
		id := g.Tell("c", "call "+write)
		return &scene{free: sync.OnceFunc(g.Fill("state")), goOn: claude, wanted: map[string]string{id: done}, asks: true, once: true}
	},
	"while a permission is asked": func(g *harness.Gateway) *scene {
		id := g.Tell("c", "call "+write)
		g.Asked(1)
		return &scene{free: sync.OnceFunc(g.Fill("state")), goOn: func() {}, wanted: map[string]string{id: done}, asks: true, once: true}
	},
	"between a result and its acknowledgement": func(g *harness.Gateway) *scene {
		return unsaved(g, fmt.Sprintf("big %d", muchBytes), strings.Repeat("x", muchBytes))
	},
}

// stopClaude stops the channel's claude until the returned function is called.
func stopClaude(g *harness.Gateway, channel string) (goOn func()) {
	g.T.Helper()
	h := g.Hosts()[channel]
	g.Freeze(h.ClaudePID, h.ClaudeStart)
	return func() {
		g.T.Helper()
		check.OK(g.T, proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGCONT))
	}
}

// unsaved fills the disk, so that the result of a turn cannot be written down and its host
// has to keep it, with all that claude says after that: a long answer to another message,
// which is the scene's last one.
func unsaved(g *harness.Gateway, text, want string) *scene {
	g.T.Helper()
	first := g.Tell("c", "wait "+g.Path("go"))
	g.Eventually("the turn runs", func() bool { return g.Begun("wait ") == 1 })
	second := g.Tell("c", text, "mode", "steer") // claude has it now, and begins it after the first
	s := &scene{free: sync.OnceFunc(g.Fill("state")), goOn: func() { g.Touch("go") }, wanted: map[string]string{first: "waited for " + g.Path("go"), second: want}, last: second}
	_, accepted := g.Refusals("other", 507, "storage_full")
	for i, id := range accepted {
		s.wanted[id] = fmt.Sprintf("other %d", i)
	}
	return s
}

// TestSpoolOnAFullDisk fills the disk at each moment of a turn, does something to the
// processes, and makes room again: nobody helps, and each message has its whole answer.
func TestSpoolOnAFullDisk(t *testing.T) {
	t.Parallel()
	for what, begin := range moments {
		for deed, do := range map[string]func(s *scene){
			"nothing else":         func(s *scene) { s.goOn() },
			"the daemon is killed": func(s *scene) { s.Kill(); s.goOn(); s.startsWithRoom() },
			"the daemon is handed over": func(s *scene) {
				s.Must("POST", "/restart", nil, 200, 503) // it says that it cannot, or can
				s.goOn()
			},
			"the daemon is handed over while claude speaks": func(s *scene) {
				s.goOn()
				s.Must("POST", "/restart", nil, 200, 503)
			},
			"the daemon is killed while claude speaks": func(s *scene) { s.goOn(); s.Kill(); s.startsWithRoom() },
			"the host is killed": func(s *scene) {
				h := s.Hosts()["c"]
				s.goOn()
				check.OK(t, proc.Signal(h.PID, h.Start, syscall.SIGKILL))
			},
		} {
			t.Run(what+", "+deed, func(t *testing.T) {
				t.Parallel()
				m := harness.NewMachine(t, "BARECLAW_APPROVALS=ask")
				m.SmallDisk("state", "16m")
				g := m.Start()
				g.Usable("c")
				s := begin(g)
				s.Gateway = g
				do(s)
				s.free()
				s.ends(deed == "the host is killed")
			})
		}
	}
}

// startsWithRoom starts a daemon on the full disk, and another one when there is room
// should that not be possible.
func (s *scene) startsWithRoom() {
	s.T.Helper()
	g := s.Launch()
	if g.Base == "" {
		s.free()
		g = s.Start()
	}
	s.Gateway = g
}

// ends fails unless each message gets what it should; where the host or claude was killed,
// a turn that claude does not run again may be told as cut instead.
func (s *scene) ends(cut bool) {
	s.T.Helper()
	for id, want := range s.wanted {
		a := s.allowed(id)
		if again := !s.once && id != s.last; cut && !again && slices.Contains([]string{"interrupted", "agent_exit"}, a.Str("code")) {
			continue
		}
		if a.Str("state") != "answered" || a.Str("text") != want {
			s.T.Errorf("message %s is %s with %d bytes, want %d: %.300s", id, a.Str("state"), len(a.Str("text")), len(want), a.Body)
		}
	}
	s.Usable("c")
	s.Usable("new")
	if n, want := s.Balanced(), len(s.wanted)+s.apart+3; n != want {
		s.T.Errorf("%d messages accepted, want %d", n, want)
	}
	for _, p := range problems(s.Gateway) {
		s.T.Errorf("a problem is left: %s", p)
	}
	s.Eventually("every host has its record", func() bool {
		alive, _ := s.Must("GET", "/health", nil, 200).JSON["hosts"].(map[string]any)
		return alive["alive"] == float64(len(s.Hosts()))
	})
	s.EndsAll()
}

// problems are those that the gateway tells.
func problems(g *harness.Gateway) (all []string) {
	g.T.Helper()
	list, _ := g.Must("GET", "/health", nil, 200).JSON["problems"].([]any)
	for _, p := range list {
		all = append(all, p.(string))
	}
	return all
}

// allowed waits for a message's outcome, and allows what is asked until then.
func (s *scene) allowed(id string) harness.Answer {
	s.T.Helper()
	if !s.asks {
		return s.Outcome(id)
	}
	var a harness.Answer
	s.Eventually("it has its outcome", func() bool {
		for _, p := range s.Must("GET", "/approvals", nil, 200).Array("approvals") {
			if p.Str("kind") != "continue" {
				s.Must("POST", "/approvals/"+p.Str("id"), harness.Obj{"behavior": "allow"})
			}
		}
		a = s.Must("GET", "/messages/"+id, nil, 200)
		return a.Str("state") != "waiting" && a.Str("state") != "running"
	})
	return a
}

// stuck returns a scene with a turn that stands still since the disk has no room for claude's
// output. The gateway has noticed that.
func stuck(m *harness.Machine) *scene {
	m.T.Helper()
	m.Touch("there")
	m.SmallDisk("state", "16m")
	g := m.Start()
	g.Usable("c")
	s := unsaved(g, "parts "+m.Path("there")+" 60", "60 parts")
	s.Gateway = g
	s.goOn()
	m.Eventually("the gateway tells of it", func() bool { return strings.Contains(strings.Join(problems(g), "\n"), m.Path("state/hosts")) })
	return s
}

// TestStuckTurnIsTold looks at what people see of a turn that stands still since there is
// no room for what claude says.
func TestStuckTurnIsTold(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	s := stuck(m)
	what := "no space is left on the disk of " + m.Path("state/hosts") + "; free some there"
	all := strings.Join(problems(s.Gateway), "\n")
	if !strings.Contains(all, `Channel "c"`) || !strings.Contains(all, what) {
		t.Errorf("the problems are %s", all)
	}
	if c := s.Channel("c"); c.Str("state") != "running" || !strings.Contains(c.Str("why"), what) {
		t.Errorf("the channel is %s", c.Body)
	}
	if log := m.Log.String(); !strings.Contains(log, what) {
		t.Error("the log says nothing of it")
	}
	m.Command(0, "status").Shows("no space is", "free some there")
	told := func(f doctor.Finding) bool { return f.Code == "gateway_unwell" && strings.Contains(f.What, what) }
	if d := m.Quick(); !slices.ContainsFunc(d.Findings, told) {
		t.Errorf("doctor says nothing of it\n%s", d.Raw)
	}

	s.free()
	s.ends(false)
	if log := m.Log.String(); !strings.Contains(log, "claude is read again") {
		t.Error("the log does not say that it is over")
	}
}

// TestStuckTurn does something to a turn that stands still since there is no room for what
// claude says, and then makes room.
func TestStuckTurn(t *testing.T) {
	t.Parallel()
	cut := func(s *scene, code string) { // the turn gets that outcome
		s.T.Helper()
		delete(s.wanted, s.last)
		s.free()
		if a := s.Outcome(s.last); a.Str("state") != "cancelled" || a.Str("code") != code {
			s.T.Errorf("the message ends as %s", a.Body)
		}
		s.apart++
	}
	for deed, do := range map[string]func(s *scene){
		"interrupted": func(s *scene) {
			s.Must("POST", "/channels/c/interrupt", nil).Refused(s.T, "interrupt", 507, "outcome_not_written")
			if a := s.Must("GET", "/messages/"+s.last, nil, 200); a.Str("state") != "running" {
				s.T.Errorf("an outcome is told that is not written: %s", a.Body)
			}
			cut(s, "interrupted")
		},
		"cancelled": func(s *scene) {
			s.Must("DELETE", "/messages/"+s.last, nil).Refused(s.T, "cancel", 409, "not_waiting")
		},
		"closed": func(s *scene) {
			s.Must("DELETE", "/channels/c", nil)
			cut(s, "channel_reset")
		},
		"restarted": func(s *scene) {
			s.Must("POST", "/restart", nil).Refused(s.T, "restart", 503, "restart_failed")
		},
		"daemon terminated": func(s *scene) {
			s.Signal(syscall.SIGTERM)
			s.startsWithRoom()
		},
		"claude killed": func(s *scene) {
			h := s.Hosts()["c"]
			check.OK(s.T, proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL))
		},
		"both killed": func(s *scene) {
			h := s.Hosts()["c"]
			s.Kill()
			check.OK(s.T, proc.Signal(h.PID, h.Start, syscall.SIGKILL))
			s.startsWithRoom()
		},
	} {
		t.Run(deed, func(t *testing.T) {
			t.Parallel()
			s := stuck(harness.NewMachine(t))
			do(s)
			s.free()
			s.ends(strings.Contains(deed, "killed"))
		})
	}
}

// TestSpoolThatCannotBeWritten has the system refuse a host's writes for other reasons
// than a full disk, while no daemon is there.
func TestSpoolThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, cause := range []string{"EDQUOT", "EIO", "EROFS"} {
		t.Run(cause, func(t *testing.T) {
			m, g := harness.Started(t)
			g.Usable("c")
			claude := stopClaude(g, "c")
			id := g.Tell("c", fmt.Sprintf("big %d", muchBytes))
			g.Kill()
			tr := m.Trace(m.Hosts()["c"].PID, "pwrite64:error="+cause)
			claude()
			tr.Detach()
			g = m.Start()
			g.Outcome(id).Want(t, strings.Repeat("x", muchBytes))
			if n := g.Balanced(); n != 2 {
				t.Errorf("%d messages accepted, want 2", n)
			}
			g.EndsAll()
		})
	}
}

// TestFullRuntimeDirectory fills the disk that the sockets are on.
func TestFullRuntimeDirectory(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.SmallDisk("run", "2m")
	g := m.Start()
	g.Usable("c")
	id := g.Tell("c", "parts "+m.Path("go")+" 60")
	m.Eventually("the turn runs", func() bool { return m.Begun("parts") == 1 })
	free := m.Fill("run")
	g.Usable("new") // a socket takes no room
	generation := g.Must("GET", "/health", nil, 200).Number("generation")
	g.Must("POST", "/restart", nil, 200)
	g.Restarted(generation)
	m.Touch("go")
	g.Outcome(id).Want(t, "60 parts")
	g.Kill()
	g = m.Start()
	g.Usable("newer")
	free()
	g.Usable("c")
	if n := g.Balanced(); n != 5 {
		t.Errorf("%d messages accepted, want 5", n)
	}
	g.EndsAll()
}
