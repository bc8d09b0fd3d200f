package setup

import (
	"os"
	"slices"
	"strings"
	"testing"

	"bareclaw/heartbeat"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/executable"
)

const installedHome = "/run/home"

// newInstalled makes the machine of a newcomer whose program is there to stay.
func newInstalled(t *testing.T, manager *harness.UserManager) *harness.Machine {
	t.Helper()
	const home = installedHome
	m := harness.NewUser(t)
	self := harness.Bareclaw(t)
	m.Program = home + "/.local/bin/bareclaw"
	m.Env = []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + harness.RuntimeDir, "PATH=" + home + "/.local/bin:/usr/bin:/bin", "TERM=xterm", "LANG=C.UTF-8", "GORACE=atexit_sleep_ms=0"}
	harness.CopyProgram(t, self, m.Program)
	check.OK(t, executable.Write(home+"/.local/bin/claude", []byte("#!/bin/sh\nexec "+harness.FakeClaude(t)+" \"$@\"\n")))
	if out, err := manager.Systemctl("set-environment", "GORACE=atexit_sleep_ms=0"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return m
}

// property returns a property of a unit.
func property(t *testing.T, manager *harness.UserManager, unit, name string) string {
	t.Helper()
	out, err := manager.Systemctl("show", "--value", "--property="+name, unit)
	if err != nil {
		t.Errorf("systemctl show %s: %v: %s", unit, err, out)
	}
	return out
}

// TestInitAsksForTheHeartbeat: the yes to the service is none to the heartbeat, for which
// init asks by itself, with what it costs. A no is remembered, by init as by the gateway.
func TestInitAsksForTheHeartbeat(t *testing.T) {
	t.Parallel()
	harness.WithUserManager(t, "/run/home", func(t *testing.T, manager *harness.UserManager) {
		m := newInstalled(t, manager)
		const state = installedHome + "/.local/state/bareclaw"
		port := harness.FreePort(t)
		init := func(args ...string) *harness.Display {
			t.Helper()
			x := m.OnScreen(append([]string{"init", "--no-telegram", "--no-doctor"}, args...)...)
			if !slices.Contains(args, "--no-turn") {
				x.Answer("Ask Claude one small question", "s")
			}
			if len(args) == 0 {
				x.Answer("Port [", port)
				x.Answer("Token that requests over TCP must carry", "")
				x.Answer("Directory that Claude works in [~]", "")
			}
			x.Answer("Time zone [", "")
			x.Answer("1, 2 or 3", "")
			return x
		}
		// says fails unless a run ends well and has said all of this, on however many lines.
		says := func(x *harness.Display, texts ...string) {
			t.Helper()
			x.Expect("All set.")
			x.Exits(0)
			shown := strings.Join(strings.Fields(x.Shown()), " ")
			for _, text := range texts {
				if !strings.Contains(shown, text) {
					t.Errorf("it does not say %q:\n%s", text, x.Shown())
				}
			}
		}
		timer := func() string { return property(t, manager, "bareclaw-heartbeat.timer", "ActiveState") }
		consent := func(want heartbeat.Consent) {
			t.Helper()
			if got, err := heartbeat.ReadConsent(state); err != nil || got != want {
				t.Errorf("the consent is %q, %v; want %q", got, err, want)
			}
			if active := timer() == "active"; active != (want == heartbeat.ConsentAsk || want == heartbeat.ConsentRevive) {
				t.Errorf("the timer is %s after %q", timer(), want)
			}
		}

		x := init()
		x.Answer("Have systemd keep the gateway running?", "y")
		x.Expect("answered in")
		x.Expect("Install the heartbeat? [y/r/N]")
		consent(heartbeat.ConsentNone)
		var did heartbeat.Installation
		m.Eventually("the gateway says what it did about the heartbeat", func() bool {
			var err error
			did, err = heartbeat.Installed(state)
			return err == nil && !did.At.IsZero()
		})
		if !strings.Contains(did.Why, "nobody has agreed to it") {
			t.Errorf("the gateway says %+v", did)
		}
		x.Types("perhaps\n")
		x.Expect("Please answer y, r or n.")
		x.Answer("Install the heartbeat?", "")
		says(x, "Claude is asked whether anything needs attention", "It costs about $0.24 a day, $7.20 a month: the first message cost $0.01 by",
			"BARECLAW_HEARTBEAT=revive", "Done: no heartbeat, as you said")
		consent(heartbeat.ConsentNo)
		answers := []string{"--port", port, "--http-token", "none", "--cwd", installedHome}
		says(init(answers...), "Fine: not wanted, as you said before")
		consent(heartbeat.ConsentNo)

		// The settings stay the same up to the last one, so that no gateway begins anew here
		// and sees to the heartbeat meanwhile.
		for _, c := range []struct {
			answer string
			says   string
			want   heartbeat.Consent
		}{
			{"s", "Skipped: as it is", heartbeat.ConsentNone},
			{"y", "Done: systemd calls the heartbeat every 1h, which asks Claude", heartbeat.ConsentAsk},
			{"r", "Done: systemd calls the heartbeat every 1h, which looks after the gateway and asks Claude nothing", heartbeat.ConsentRevive},
		} {
			runs(m, exitcode.OK, "", "--yes", "--no-turn", "--no-telegram", "--no-doctor", "--no-heartbeat")
			check.OK(t, heartbeat.SaveConsent(state, heartbeat.ConsentNone))
			x := init(append(answers, "--no-turn")...)
			x.Answer("Install the heartbeat?", c.answer)
			says(x, c.says, "What a question costs is not known yet")
			consent(c.want)
		}
	})
}

// TestInitInstallsTheService runs init next to a real systemd for users: it installs
// the gateway, and the heartbeat if that is agreed to, changes nothing the second time,
// and has a gateway that runs take up another port.
func TestInitInstallsTheService(t *testing.T) {
	t.Parallel()
	harness.WithUserManager(t, "/run/home", func(t *testing.T, manager *harness.UserManager) {
		m := newInstalled(t, manager)
		init := func(args ...string) *harness.Invocation {
			t.Helper()
			return runs(m, exitcode.OK, "", append([]string{"--yes"}, args...)...)
		}
		service := func(name string) string { return property(t, manager, "bareclaw.service", name) }
		timer := func() string { return property(t, manager, "bareclaw-heartbeat.timer", "ActiveState") }
		settings := func() string {
			b, err := os.ReadFile(installedHome + "/.config/bareclaw/.env")
			check.OK(t, err)
			return string(b)
		}

		init("--port", harness.FreePort(t)).Shows("systemd keeps the gateway running", "Done: answered in", "All set.")
		pid := service("MainPID")
		if service("ActiveState") != "active" || timer() == "active" || pid == "0" {
			t.Errorf("the service is not active, or the timer is, to which nobody has agreed")
		}
		before := settings()

		init().Shows("Fine: systemd keeps the gateway running", "Skipped: nobody has agreed to it", "--heartbeat=yes", "All set.")
		init("--heartbeat=yes").Shows("Done: systemd calls the heartbeat every 1h, which asks Claude", "All set.")
		init().Shows("Fine: systemd calls the heartbeat every 1h, which asks Claude", "All set.")
		if timer() != "active" {
			t.Error("the timer is not active")
		}
		if settings() != before || service("MainPID") != pid {
			t.Error("the second run has changed something")
		}

		port := harness.FreePort(t)
		init("--port", port).Shows("the gateway was restarted with the new settings", "All set.", "127.0.0.1:"+port)
		if !strings.Contains(settings(), "BARECLAW_PORT="+port+"\n") {
			t.Errorf("the new port did not apply:\n%s", settings())
		}
		m.Eventually("systemd knows that it serves again", func() bool { return service("ActiveState") == "active" }) // it answers a moment before

		init("--heartbeat=revive").Shows("which looks after the gateway and asks Claude nothing")
		if timer() != "active" || !strings.Contains(settings(), "BARECLAW_HEARTBEAT=revive\n") {
			t.Errorf("the timer is %s, the settings are\n%s", timer(), settings())
		}
		init("--no-heartbeat").Shows("Done: the heartbeat was uninstalled")
		init().Shows("Fine: not wanted, as you said before")
		if timer() == "active" || strings.Contains(settings(), "revive") {
			t.Errorf("the timer is %s, the settings are\n%s", timer(), settings())
		}
	})
}
