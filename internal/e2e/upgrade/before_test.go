package upgrade

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/sessionhost/protocol"
)

// TestTakesOverFromTheVersionBefore ends the version before by SIGTERM, with turns under way,
// a permission that is asked for and messages that wait, and starts this one: it serves the
// same sessions, and every message has exactly one outcome. The turns go on meanwhile, or
// end while no daemon runs.
func TestTakesOverFromTheVersionBefore(t *testing.T) {
	t.Parallel()
	for name, endsMeanwhile := range map[string]bool{"turns go on": false, "turns end meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _, anna, chat := harness.NewChat(t, "BARECLAW_APPROVALS=ask", "BARECLAW_WARM_SPARES=1")
			m.Program = harness.BareclawBefore(t)
			g := m.Start()
			g.Say("idle", "echo remember me").Want(t, "remember me")
			idle := g.Say("idle", "pid").Str("text")
			wanted := map[string]string{} // by message
			wanted[g.Tell("busy", "wait "+m.Path("go"))] = "waited for " + m.Path("go")
			m.Eventually("a turn runs", func() bool { return m.Begun("wait ") == 1 })
			wanted[g.Tell("busy", "tool 0 behind")] = "final: ran: behind"
			wanted[g.Tell("asks", "tool 0 ask touch")] = "final: ran: ask touch"
			asked := g.Asked(1)[0].Str("id")
			wanted[g.Tell("asks", "echo after the question")] = "after the question"
			chat.Send(anna, "wait "+m.Path("go"))
			m.Eventually("the chat's turn runs", func() bool { return m.Begun("wait ") == 2 })
			chat.Send(anna, "echo behind it in the chat")
			g.Eventually("the chat's message waits", func() bool { return g.Metrics()["bareclaw_messages_waiting"] >= 3 })
			job := g.Schedule("jobs", "echo scheduled", harness.Due(time.Hour))
			before := m.Hosts()
			g.Signal(syscall.SIGTERM)
			if endsMeanwhile {
				m.Touch("go")
			}

			m.Program = ""
			g = m.Start()
			for channel, host := range before {
				if _, spare := protocol.SpareSlot(channel); spare { // replaced, if it was ready: this program starts claude in another way
					continue
				}
				if now := m.Hosts()[channel]; now != host {
					t.Errorf("the host of channel %q was %+v and is %+v", channel, host, now)
				}
			}
			m.Touch("go")
			g.Must("POST", "/approvals/"+asked, harness.Obj{"behavior": "allow"}, 200)
			for id, want := range wanted {
				g.Outcome(id).Want(t, want)
			}
			if now := g.Say("idle", "pid").Str("text"); now != idle {
				t.Errorf("the idle session's claude was %s and is %s", idle, now)
			}
			if texts := g.Say("idle", "history").Str("text"); !strings.Contains(texts, "remember me") {
				t.Errorf("the conversation is lost: %s", texts)
			}
			for _, text := range []string{"waited for ", "behind it in the chat"} {
				chat.AwaitText(text)
			}
			g.Delivered()
			for _, text := range []string{"waited for ", "behind it in the chat"} {
				if n := harness.CountText(chat, text); n != 1 {
					t.Errorf("the chat shows %q %d times", text, n)
				}
			}
			for text, want := range map[string]int{"wait ": 2, "tool 0 behind": 1, "tool 0 ask": 1, "echo after the question": 1, "echo behind it": 1} {
				if n := m.Begun(text); n != want {
					t.Errorf("turns with %q were begun %d times, want %d", text, n, want)
				}
			}
			if s := g.Must("GET", "/schedules/"+job, nil, 200); s.Str("state") != "active" {
				t.Errorf("the schedule is %s", s.Body)
			}
			if n := len(g.History("busy")); n != 2 {
				t.Errorf("channel busy has %d messages, want 2", n)
			}
			g.Balanced()
		})
	}
}
