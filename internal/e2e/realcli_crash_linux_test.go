package e2e

import (
	"fmt"
	"strings"
	"testing"

	"bareclaw/internal/proc"
)

// TestRealConversationKilledAtWrites has a conversation of three turns with the real CLI,
// and kills the daemon, the host or claude in each of them on the way into a chosen one of
// its system calls that others notice: each turn has one outcome, texts are answered, the
// tool ran once at most, and the conversation stays one.
func TestRealConversationKilledAtWrites(t *testing.T) {
	t.Parallel()
	needStrace(t)
	chosen := [][3]int{{1, 4, 9}, {2, 6, 3}}
	if soak() {
		for n := 1; n <= 12; n++ {
			chosen = append(chosen, [3]int{n, n + 12, n + 24})
		}
	}
	for victim, pid := range map[string]func(g *realGateway) int{
		"daemon": func(g *realGateway) int { return g.cmd.Process.Pid },
		"host":   func(g *realGateway) int { return g.m.hosts()["http"].PID },
		"claude": func(g *realGateway) int { return g.m.hosts()["http"].ClaudePID },
	} {
		for _, steps := range chosen {
			t.Run(fmt.Sprint(victim, steps), func(t *testing.T) {
				t.Parallel()
				realConversationKilled(t, victim, pid, steps)
			})
		}
	}
}

func realConversationKilled(t *testing.T, victim string, pid func(*realGateway) int, at [3]int) {
	m := newRealMachine(t)
	g := m.start()
	session := g.say("http", "echo before").str("session_id")
	texts := []string{"echo words-1", "tool:bash echo ran >> " + m.path("ran"), "echo words-3"}
	kills := 0
	var ids []string
	for i, text := range texts {
		g.usable("http") // also after a kill: there are a host and a claude
		p := pid(g)
		start, err := proc.StartTime(p)
		if err != nil {
			t.Fatal(err)
		}
		tr := m.trace(p, fmt.Sprintf("%s:signal=SIGKILL:when=%d", strings.Join(steps, ","), at[i]))
		s := &sent{text: text, form: "async", key: fmt.Sprint("turn-", i)}
		for g.post("http", s); s.id == ""; g.post("http", s) {
			g = g.restartedAfterKill()
		}
		ids = append(ids, s.id)
		a, err := g.do("GET", "/messages/"+s.id+"?wait=30s", nil)
		for err != nil || a.status == 202 {
			if err != nil {
				g = g.restartedAfterKill()
			}
			a, err = g.do("GET", "/messages/"+s.id+"?wait=30s", nil)
		}
		tr.detach()
		if victim == "daemon" && g.ended() {
			g = m.start()
		}
		if !proc.Alive(p, start) {
			kills++
		}
	}
	t.Logf("%d kills in 3 turns", kills)
	if kills == 0 {
		t.Error("nothing was killed")
	}
	remembered := []string{"echo before", "assistant text: before", "assistant text: words-1", "assistant text: words-3"}
	for i, want := range []string{"words-1", "final after 1 call(s): (Bash completed with no output)", "words-3"} {
		a := g.outcome(ids[i])
		ran := len(m.lines("ran"))
		switch {
		case a.str("state") == "answered":
			a.want(t, want)
			if i == 1 && ran != 1 {
				t.Errorf("answered, and the tool ran %d times", ran)
			}
			if i == 1 {
				remembered = append(remembered, "tool:bash", want)
			}
		case i == 1 && victim != "daemon":
			g.failed(a, "failed", "interrupted")
			if ran > 1 {
				t.Errorf("the tool ran %d times", ran)
			}
		default:
			t.Errorf("%s: %s", texts[i], a.body)
		}
	}
	most := 2 // a turn of text that was cut runs again
	if victim == "daemon" {
		most = 1
	}
	for _, words := range []string{"words-1", "words-3"} {
		if n := m.asked(words); n < 1 || n > most {
			t.Errorf("the model was asked %d times for %s, want at most %d", n, words, most)
		}
	}
	after := g.say("http", "history")
	g.mentions(after, remembered...)
	if now := after.str("session_id"); now != session || session == "" {
		t.Errorf("session is %s, was %s", now, session)
	}
	g.balanced()
}

// restartedAfterKill starts the gateway again once the killed one has ended.
func (g *realGateway) restartedAfterKill() *realGateway {
	g.t.Helper()
	g.waitEnd()
	return g.m.start()
}
