package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/proc"
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
	*gateway
	free   func()            // makes room
	goOn   func()            // lets claude say what there is no room for
	wanted map[string]string // what becomes of the messages, by id
	asks   bool              // it has to be allowed to use a tool
	once   bool              // claude has done what it does not do again by itself
	last   string            // the message of the turn that stands still
	apart  int               // further messages, which were accepted and are looked at elsewhere
}

// The moments at which the disk becomes full.
var moments = map[string]func(g *gateway) *scene{
	"before a turn's first event": func(g *gateway) *scene {
		claude := g.stopClaude("c")
		id := g.tell("c", fmt.Sprintf("big %d", muchBytes))
		return &scene{free: sync.OnceFunc(g.fill()), goOn: claude, wanted: map[string]string{id: strings.Repeat("x", muchBytes)}}
	},
	"in a long answer": func(g *gateway) *scene {
		id := g.tell("c", "parts "+g.path("go")+" 60")
		g.eventually("the turn runs", func() bool { return g.begun("parts") == 1 })
		return &scene{free: sync.OnceFunc(g.fill()), goOn: func() { g.touch("go") }, wanted: map[string]string{id: "60 parts"}, once: true}
	},
	"before a permission is asked": func(g *gateway) *scene {
		claude := g.stopClaude("c")
		id := g.tell("c", "call "+write)
		return &scene{free: sync.OnceFunc(g.fill()), goOn: claude, wanted: map[string]string{id: done}, asks: true, once: true}
	},
	"while a permission is asked": func(g *gateway) *scene {
		id := g.tell("c", "call "+write)
		g.asked(1)
		return &scene{free: sync.OnceFunc(g.fill()), goOn: func() {}, wanted: map[string]string{id: done}, asks: true, once: true}
	},
	"between a result and its acknowledgement": func(g *gateway) *scene {
		return g.unsaved(fmt.Sprintf("big %d", muchBytes), strings.Repeat("x", muchBytes))
	},
}

// stopClaude stops the channel's claude until the returned function is called.
func (g *gateway) stopClaude(channel string) (goOn func()) {
	g.t.Helper()
	h := g.hosts()[channel]
	g.freeze(h.ClaudePID, h.ClaudeStart)
	return func() {
		g.t.Helper()
		if err := proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGCONT); err != nil {
			g.t.Fatal(err)
		}
	}
}

// unsaved fills the disk, so that the result of a turn cannot be written down and its host
// has to keep it, with all that claude says after that: a long answer to another message,
// which is the scene's last one.
func (g *gateway) unsaved(text, want string) *scene {
	g.t.Helper()
	first := g.tell("c", "wait "+g.path("go"))
	g.eventually("the turn runs", func() bool { return g.begun("wait ") == 1 })
	second := g.tell("c", text, "mode", "steer") // claude has it now, and begins it after the first
	s := &scene{free: sync.OnceFunc(g.fill()), goOn: func() { g.touch("go") }, wanted: map[string]string{first: "waited for " + g.path("go"), second: want}, last: second}
	_, accepted := g.refusals("other", 507, "storage_full")
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
			"the daemon is killed": func(s *scene) { s.kill(); s.goOn(); s.startsWithRoom() },
			"the daemon is handed over": func(s *scene) {
				s.must("POST", "/restart", nil, 200, 503) // it says that it cannot, or can
				s.goOn()
			},
			"the daemon is handed over while claude speaks": func(s *scene) {
				s.goOn()
				s.must("POST", "/restart", nil, 200, 503)
			},
			"the daemon is killed while claude speaks": func(s *scene) { s.goOn(); s.kill(); s.startsWithRoom() },
			"the host is killed": func(s *scene) {
				h := s.hosts()["c"]
				s.goOn()
				if err := proc.Signal(h.PID, h.Start, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			},
		} {
			t.Run(what+", "+deed, func(t *testing.T) {
				t.Parallel()
				m := newMachine(t, "BARECLAW_APPROVALS=ask")
				m.diskOf("state", "16m")
				g := m.start()
				g.usable("c")
				s := begin(g)
				s.gateway = g
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
	s.t.Helper()
	g := s.launch()
	if g.base == "" {
		s.free()
		g = s.start()
	}
	s.gateway = g
}

// ends fails unless each message gets what it should; where the host or claude was killed,
// a turn that claude does not run again may be told as cut instead.
func (s *scene) ends(cut bool) {
	s.t.Helper()
	for id, want := range s.wanted {
		a := s.allowed(id)
		if again := !s.once && id != s.last; cut && !again && slices.Contains([]string{"interrupted", "agent_exit"}, a.str("code")) {
			continue
		}
		if a.str("state") != "answered" || a.str("text") != want {
			s.t.Errorf("message %s is %s with %d bytes, want %d: %.300s", id, a.str("state"), len(a.str("text")), len(want), a.body)
		}
	}
	s.usable("c")
	s.usable("new")
	if n, want := s.balanced(), len(s.wanted)+s.apart+3; n != want {
		s.t.Errorf("%d messages accepted, want %d", n, want)
	}
	for _, p := range s.problems() {
		if !strings.HasPrefix(p, "The last restart failed") {
			s.t.Errorf("a problem is left: %s", p)
		}
	}
	s.eventually("every host has its record", func() bool {
		alive, _ := s.must("GET", "/health", nil, 200).json["hosts"].(map[string]any)
		return alive["alive"] == float64(len(s.hosts()))
	})
	s.endsAll()
}

// problems are those that the gateway tells.
func (g *gateway) problems() (all []string) {
	g.t.Helper()
	list, _ := g.must("GET", "/health", nil, 200).json["problems"].([]any)
	for _, p := range list {
		all = append(all, p.(string))
	}
	return all
}

// allowed waits for a message's outcome, and allows what is asked until then.
func (s *scene) allowed(id string) answer {
	s.t.Helper()
	if !s.asks {
		return s.outcome(id)
	}
	var a answer
	s.eventually("it has its outcome", func() bool {
		for _, p := range s.must("GET", "/approvals", nil, 200).array("approvals") {
			if p.str("kind") != "continue" {
				s.must("POST", "/approvals/"+p.str("id"), obj{"behavior": "allow"})
			}
		}
		a = s.must("GET", "/messages/"+id, nil, 200)
		return a.str("state") != "waiting" && a.str("state") != "running"
	})
	return a
}

// stuck returns a scene in which a turn runs that claude cannot say more of, which the
// gateway knows.
func (m *machine) stuck() *scene {
	m.t.Helper()
	m.touch("there")
	m.diskOf("state", "16m")
	g := m.start()
	g.usable("c")
	s := g.unsaved("parts "+m.path("there")+" 60", "60 parts")
	s.gateway = g
	s.goOn()
	m.eventually("the gateway tells of it", func() bool { return strings.Contains(strings.Join(g.problems(), "\n"), m.path("state/hosts")) })
	return s
}

// TestStuckTurnIsTold looks at what people see of a turn that stands still since there is
// no room for what claude says.
func TestStuckTurnIsTold(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.stuck()
	what := "no space is left on the disk of " + m.path("state/hosts") + "; free some there"
	all := strings.Join(s.problems(), "\n")
	if !strings.Contains(all, `Channel "c"`) || !strings.Contains(all, what) {
		t.Errorf("the problems are %s", all)
	}
	if c := s.channel("c"); c.str("state") != "running" || !strings.Contains(c.str("why"), what) {
		t.Errorf("the channel is %s", c.body)
	}
	if log := m.log.String(); !strings.Contains(log, what) {
		t.Error("the log says nothing of it")
	}
	m.command(0, "status").shows("no space is left", "free some there")
	told := func(f doctor.Finding) bool { return f.Code == "gateway_unwell" && strings.Contains(f.What, what) }
	if d := m.quick(); !slices.ContainsFunc(d.Findings, told) {
		t.Errorf("doctor says nothing of it\n%s", d.raw)
	}

	s.free()
	s.ends(false)
	if log := m.log.String(); !strings.Contains(log, "claude is read again") {
		t.Error("the log does not say that it is over")
	}
}

// TestStuckTurn does something to a turn that stands still since there is no room for what
// claude says, and then makes room.
func TestStuckTurn(t *testing.T) {
	t.Parallel()
	cut := func(s *scene, code string) { // the turn gets that outcome
		s.t.Helper()
		delete(s.wanted, s.last)
		s.free()
		if a := s.outcome(s.last); a.str("state") != "cancelled" || a.str("code") != code {
			s.t.Errorf("the message ends as %s", a.body)
		}
		s.apart++
	}
	for deed, do := range map[string]func(s *scene){
		"nothing": func(*scene) {},
		"interrupted": func(s *scene) {
			s.must("POST", "/channels/c/interrupt", nil).refused(s.t, "interrupt", 507, "outcome_not_written")
			if a := s.must("GET", "/messages/"+s.last, nil, 200); a.str("state") != "running" {
				s.t.Errorf("an outcome is told that is not written: %s", a.body)
			}
			cut(s, "interrupted")
		},
		"cancelled": func(s *scene) {
			s.must("DELETE", "/messages/"+s.last, nil).refused(s.t, "cancel", 409, "not_waiting")
		},
		"closed": func(s *scene) {
			s.must("DELETE", "/channels/c", nil)
			cut(s, "channel_reset")
		},
		"restarted": func(s *scene) {
			s.must("POST", "/restart", nil).refused(s.t, "restart", 503, "restart_failed")
		},
		"daemon terminated": func(s *scene) {
			s.signal(syscall.SIGTERM)
			s.startsWithRoom()
		},
		"daemon killed": func(s *scene) {
			s.kill()
			s.startsWithRoom()
		},
		"host killed": func(s *scene) {
			h := s.hosts()["c"]
			if err := proc.Signal(h.PID, h.Start, syscall.SIGKILL); err != nil {
				s.t.Fatal(err)
			}
		},
		"claude killed": func(s *scene) {
			h := s.hosts()["c"]
			if err := proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL); err != nil {
				s.t.Fatal(err)
			}
		},
		"both killed": func(s *scene) {
			h := s.hosts()["c"]
			s.kill()
			if err := proc.Signal(h.PID, h.Start, syscall.SIGKILL); err != nil {
				s.t.Fatal(err)
			}
			s.startsWithRoom()
		},
	} {
		t.Run(deed, func(t *testing.T) {
			t.Parallel()
			s := newMachine(t).stuck()
			do(s)
			s.free()
			s.ends(strings.Contains(deed, "killed") && deed != "daemon killed")
		})
	}
}

// TestSpoolThatCannotBeWritten has the system refuse a host's writes for other reasons
// than a full disk, while no daemon is there.
func TestSpoolThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, cause := range []string{"EDQUOT", "EIO", "EROFS"} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			g := m.start()
			g.usable("c")
			claude := g.stopClaude("c")
			id := g.tell("c", fmt.Sprintf("big %d", muchBytes))
			g.kill()
			tr := m.trace(m.hosts()["c"].PID, "pwrite64:error="+cause)
			claude()
			tr.detach()
			g = m.start()
			g.outcome(id).want(t, strings.Repeat("x", muchBytes))
			if n := g.balanced(); n != 2 {
				t.Errorf("%d messages accepted, want 2", n)
			}
			g.endsAll()
		})
	}
}

// TestFullRuntimeDirectory fills the disk that the sockets are on.
func TestFullRuntimeDirectory(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.diskOf("run", "2m")
	g := m.start()
	g.usable("c")
	id := g.tell("c", "parts "+m.path("go")+" 60")
	m.eventually("the turn runs", func() bool { return m.begun("parts") == 1 })
	free := m.fillDisk("run")
	g.usable("new") // a socket takes no room
	generation := g.must("GET", "/health", nil, 200).number("generation")
	g.must("POST", "/restart", nil, 200)
	g.restarted(generation)
	m.touch("go")
	g.outcome(id).want(t, "60 parts")
	g.kill()
	g = m.start()
	g.usable("newer")
	free()
	g.usable("c")
	if n := g.balanced(); n != 5 {
		t.Errorf("%d messages accepted, want 5", n)
	}
	g.endsAll()
}
