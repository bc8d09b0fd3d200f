package sessionhost

import (
	"slices"
	"testing"

	"bareclaw/core"
)

// TestSettingsOnTheCommandLine starts sessions with settings: claude gets them, and a
// later daemon learns of which.
func TestSettingsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	h := st.hosts()
	own := core.Settings{Model: "haiku", PermissionMode: "plan", Rules: []core.Rule{{Rule: "Bash(a, b)"}}}
	for _, row := range []struct {
		name    string
		l       core.Launch
		want    []string
		without []string
	}{
		{"none", core.Launch{SessionID: newID(t), Resume: true}, nil, []string{"--model", "--permission-mode", "--settings"}},
		{"all", core.Launch{SessionID: newID(t), Settings: own},
			[]string{"--settings", `{"permissions":{"allow":["Bash(a, b)"]}}`, "--model", "haiku", "--permission-mode", "plan"}, nil},
		{"taken back", core.Launch{SessionID: newID(t), Resume: true, Settings: core.Settings{HadModel: true, HadPermissionMode: true}},
			[]string{"--model", "default", "--permission-mode", "default"}, []string{"--settings"}},
		{"taken back, new session", core.Launch{SessionID: newID(t), Settings: core.Settings{HadModel: true, HadPermissionMode: true}},
			nil, []string{"--model", "--permission-mode", "--settings"}},
	} {
		b, err := h.o.bootstrap(st.paths(), row.l)
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.Index(b.Argv, row.l.SessionID); !endsWith(b.Argv[:i-1], row.want) {
			t.Errorf("%s: %q, want %q before the session", row.name, b.Argv, row.want)
		}
		for _, flag := range row.without {
			if slices.Contains(b.Argv, flag) {
				t.Errorf("%s: %q has %s", row.name, b.Argv, flag)
			}
		}
	}
	h.o.Launch.Model = "opus"
	if l := h.o.launchFor(core.Launch{Resume: true, Settings: core.Settings{HadModel: true}}); l.Model != "opus" {
		t.Errorf("a model that was taken back is followed by %q, not by the gateway's", l.Model)
	}
}

func endsWith(args, tail []string) bool {
	return len(args) >= len(tail) && slices.Equal(args[len(args)-len(tail):], tail)
}

// TestSettingsAreRemembered attaches to a host: it says which settings it has.
func TestSettingsAreRemembered(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	h := st.hosts()
	s := st.begin(h, core.Launch{SessionID: newID(t), Settings: core.Settings{Model: "haiku"}})
	want := core.Settings{Model: "haiku"}.Fingerprint()
	if got := s.Info().Settings; got != want {
		t.Errorf("started with %q, want %q", got, want)
	}
	s.Detach()
	again, err := h.Attach(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	if info := st.listen(again).Info(); info.Settings != want || info.Stale {
		t.Errorf("attached with %+v, want %q", info, want)
	}
}

// TestSpareIsNotTakenWithSettings has a channel get settings after a spare was
// promised to it: the spare was started without.
func TestSpareIsNotTakenWithSettings(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	h, spare := st.spare()
	s := st.begin(h, core.Launch{SessionID: st.reserve(h), Settings: core.Settings{Model: "haiku"}})
	if s.Info().HostPID == spare.PID || !dead(spare) {
		t.Errorf("session is %+v, the spare was %+v", s.Info(), spare)
	}
}
