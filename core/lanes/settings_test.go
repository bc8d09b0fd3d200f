package lanes

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// set changes the settings of channel c.
func (w *world) set(model, mode string) {
	w.t.Helper()
	if err := w.m.ChannelSettings.ChangeSettings(w.t.Context(), "c", &model, &mode); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

// addRule adds a rule to a channel, as a decision with Always does.
func addRule(ctx context.Context, m *Manager, key core.ChannelKey, rule, by string) (core.Rule, error) {
	r, err := core.NewRule(key, rule, by, m.o.Now())
	if err != nil {
		return r, err
	}
	c := core.SettingsChange{Channel: key, Add: []core.Rule{r}}
	return r, core.WriteAndWait(ctx, m.o.Ledger, core.Change{Settings: []core.SettingsChange{c}}, func() {
		m.ChannelSettings.Apply(&c)
		m.lanes.wake(key)
	})
}

func (w *world) addRule(key core.ChannelKey, rule, by string) {
	w.t.Helper()
	if _, err := addRule(w.t.Context(), w.m, key, rule, by); err != nil {
		w.t.Fatal(err)
	}
}

// What a channel is set to before its first message is how its session is started,
// and a session that waits is not taken.
func TestSettingsOfNewChannel(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.agent.spares = []string{"spare"}
		w.set("haiku", "plan")
		w.addRule("c", "Bash(npm test:*)", "ann")
		l := w.served("c").launch
		if s := l.Settings; s.Model != "haiku" || s.PermissionMode != "plan" || len(s.Rules) != 1 || s.Rules[0].Tool != "Bash" || s.Rules[0].By != "ann" {
			t.Errorf("launched with %+v", s)
		}
		if l.SessionID == "spare" {
			t.Error("a session that was started without the settings was taken")
		}
		if l := w.served("other").launch; l.SessionID != "spare" || l.Settings.Fingerprint() != "" {
			t.Errorf("another channel launched %+v", l)
		}
	})
}

// A session that was started with other settings ends when it is unused; what comes
// resumes the conversation with the new ones.
func TestSettingsReplaceSession(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		h := w.served("c")
		w.set("haiku", "")
		w.after(2 * time.Second)
		if h.alive() || !h.gentle() {
			t.Fatalf("it lives: %v, was ended gently: %v", h.alive(), h.gentle())
		}
		next := w.served("c")
		if l := next.launch; !l.Resume || l.SessionID != h.launch.SessionID || l.Settings.Model != "haiku" {
			t.Errorf("launched %+v", l)
		}
		w.set("haiku", "")
		w.after(2 * time.Second)
		if w.served("c") != next {
			t.Error("a change that changes nothing has replaced the session")
		}
		w.set("", "")
		w.after(2 * time.Second)
		if s := w.served("c").launch.Settings; s.Model != "" || !s.HadModel {
			t.Errorf("launched with %+v", s)
		}
	})
}

// A running turn ends with the settings it began with; the next one has the new ones.
func TestSettingsDuringTurn(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		one, h, id := w.begun("one")
		two := w.submit("two")
		w.set("haiku", "")
		w.undecided(one, two)
		if !h.alive() {
			t.Fatal("the session was ended during its turn")
		}
		h.finish(id, "1")
		w.wants(one, core.Answered, "", "1")
		w.after(2 * time.Second)
		next, id := w.running()
		if next == h || next.launch.Settings.Model != "haiku" || !next.launch.Resume {
			t.Fatalf("the next turn runs in %+v", next.launch)
		}
		next.answer(id, "2")
		w.wants(two, core.Answered, "", "2")
	})
}

// A message that comes just when the settings change waits for the new session.
func TestMessageAfterSettings(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		h := w.served("c")
		h.deafen() // it takes its time to end
		w.set("haiku", "")
		m := w.submit("two")
		w.wantTexts(h, "hello")
		h.die()
		w.after(time.Second)
		next, id := w.running()
		if next.launch.Settings.Model != "haiku" {
			t.Errorf("launched %+v", next.launch)
		}
		next.answer(id, "2")
		w.wants(m, core.Answered, "", "2")
	})
}

// Background tasks keep their process, with the old settings.
func TestSettingsSpareBackgroundTasks(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		h := w.served("c")
		h.runs(1)
		synctest.Wait()
		w.set("haiku", "")
		w.after(time.Minute)
		if w.served("c") != h {
			t.Fatal("the session was replaced although a task runs")
		}
		h.runs(0)
		w.after(newsGrace + 2*time.Second)
		if h.alive() {
			t.Error("it was not replaced when the task had ended")
		}
	})
}

// A new process of the gateway compares with what the host was started with.
func TestSettingsAcrossRestart(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(*world){"restart": (*world).restart, "crash": func(w *world) { w.crash(); w.start() }} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				w.set("haiku", "plan")
				h := w.served("c")
				again(w)
				if w.served("c") != h {
					t.Fatal("the session was replaced although nothing has changed")
				}
				one, _, id := w.begun("one")
				w.set("sonnet", "")
				again(w)
				h.finish(id, "1")
				w.wantsNow(one.Message.ID, core.Answered, "", "1")
				m := w.submit("two")
				w.after(2 * time.Second)
				next, id := w.running()
				next.answer(id, "2")
				w.wants(m, core.Answered, "", "2")
				if s := next.launch.Settings; s.Model != "sonnet" || s.PermissionMode != "" || !s.HadPermissionMode {
					t.Errorf("the next session has %+v", s)
				}
			})
		})
	}
}

// A turn that fails for what the channel is set to says how that is taken back.
func TestBadSettingsSayHowToUndo(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.set("nonsense", "bypassPermissions")
		m := w.submit("one")
		h, id := w.running()
		h.fails(id, core.CodeBadModel, time.Time{})
		text := w.wants(m, core.Failed, core.CodeBadModel, `the model "nonsense"`).Reply.Text
		if !strings.Contains(text, "take back the model, or take back all.") || strings.Contains(text, "bypass") {
			t.Errorf("the reply is %q", text)
		}
		w.set("nonsense", "bypassPermissions")
		h.exit(core.Exit{Text: "killed"})
		w.after(time.Second)
		m = w.submit("two")
		w.host().exit(core.Exit{Reason: core.ExitStartFailed, Code: "agent_exit", Text: "Claude refuses the mode."})
		w.after(time.Second)
		w.wants(m, core.Failed, "agent_exit", `Claude refuses the mode. This channel has the model "nonsense" and the permission mode "bypassPermissions"`)
	})
}
