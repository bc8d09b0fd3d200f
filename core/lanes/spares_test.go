package lanes

import "testing"

// A new channel gets a session that waits, if there is one; a channel that has a
// session does not ask for another.
func TestNewChannelTakesSpare(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.agent.spares = []string{"spare"}
		a := w.served("a")
		if a.launch.SessionID != "spare" || a.launch.Resume {
			t.Errorf("the new channel launched %+v", a.launch)
		}
		w.agent.spares = []string{"another"}
		if again := w.served("a"); again != a {
			t.Error("the channel got another session")
		}
		if len(w.agent.spares) != 1 {
			t.Error("a channel with a session has taken a spare")
		}
		if b := w.served("b"); b.launch.SessionID != "another" {
			t.Errorf("the second channel launched %+v", b.launch)
		}
		if c := w.served("c"); c.launch.SessionID == "" || c.launch.SessionID == "another" {
			t.Errorf("without a spare a channel launched %+v", c.launch)
		}
	})
}
