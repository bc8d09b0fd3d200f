package realclaude

import (
	"fmt"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
)

// TestRealConversationKilledAtWrites has a conversation of three turns with the real CLI,
// and kills the daemon, the host or claude in each of them on the way into a chosen one of
// its system calls that others notice: each turn has one outcome, texts are answered, the
// tool ran once at most, and the conversation stays one.
func TestRealConversationKilledAtWrites(t *testing.T) {
	t.Parallel()
	harness.NeedStrace(t)
	chosen := [][3]int{{1, 4, 9}}
	if harness.Soak() {
		for n := 2; n <= 12; n++ {
			chosen = append(chosen, [3]int{n, n + 12, n + 24})
		}
	}
	for victim, pid := range map[string]func(g *harness.RealGateway) int{
		"daemon": func(g *harness.RealGateway) int { return g.Cmd.Process.Pid },
		"host":   func(g *harness.RealGateway) int { return g.M.Hosts()["http"].PID },
		"claude": func(g *harness.RealGateway) int { return g.M.Hosts()["http"].ClaudePID },
	} {
		for _, steps := range chosen {
			t.Run(fmt.Sprint(victim, steps), func(t *testing.T) {
				t.Parallel()
				realConversationKilled(t, victim, pid, steps)
			})
		}
	}
}

func realConversationKilled(t *testing.T, victim string, pid func(*harness.RealGateway) int, at [3]int) {
	m := harness.NewRealMachine(t)
	g := m.Start()
	session := g.Say("http", "echo before").Str("session_id")
	texts := []string{"echo words-1", "tool:bash echo ran >> " + m.Path("ran"), "echo words-3"}
	kills := 0
	var ids []string
	for i, text := range texts {
		g.Usable("http") // also after a kill: there are a host and a claude
		p := pid(g)
		start, err := proc.StartTime(p)
		if err != nil {
			t.Fatal(err)
		}
		tr := m.Trace(p, fmt.Sprintf("%s:signal=SIGKILL:when=%d", strings.Join(harness.Steps, ","), at[i]))
		s := &harness.Sent{Text: text, Form: "async", Key: fmt.Sprint("turn-", i)}
		for g.Post("http", s); s.ID == ""; g.Post("http", s) {
			g = g.RestartedAfterKill()
		}
		ids = append(ids, s.ID)
		a, err := g.Do("GET", "/messages/"+s.ID+"?wait=30s", nil)
		for err != nil || a.Status == 202 {
			if err != nil {
				g = g.RestartedAfterKill()
			}
			a, err = g.Do("GET", "/messages/"+s.ID+"?wait=30s", nil)
		}
		tr.Detach()
		if victim == "daemon" && g.Ended() {
			g = m.Start()
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
		a := g.Outcome(ids[i])
		ran := len(m.Lines("ran"))
		switch {
		case a.Str("state") == "answered":
			a.Want(t, want)
			if i == 1 && ran != 1 {
				t.Errorf("answered, and the tool ran %d times", ran)
			}
			if i == 1 {
				remembered = append(remembered, "tool:bash", want)
			}
		case i == 1 && victim != "daemon":
			g.Failed(a, "failed", "interrupted")
			if ran > 1 {
				t.Errorf("the tool ran %d times", ran)
			}
		default:
			t.Errorf("%s: %s", texts[i], a.Body)
		}
	}
	most := 2 // a turn of text that was cut runs again
	if victim == "daemon" {
		most = 1
	}
	for _, words := range []string{"words-1", "words-3"} {
		if n := m.Asked(words); n < 1 || n > most {
			t.Errorf("the model was asked %d times for %s, want at most %d", n, words, most)
		}
	}
	after := g.Say("http", "history")
	g.Mentions(after, remembered...)
	if now := after.Str("session_id"); now != session || session == "" {
		t.Errorf("session is %s, was %s", now, session)
	}
	g.Balanced()
}
