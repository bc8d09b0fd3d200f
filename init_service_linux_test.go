package main

import (
	"os"
	"strings"
	"testing"
)

// TestInitInstallsTheService runs init next to a real systemd for users: it installs
// the gateway and the heartbeat, changes nothing the second time, and has a gateway
// that runs take up another port.
func TestInitInstallsTheService(t *testing.T) {
	t.Parallel()
	withUserManager(t, func(t *testing.T, manager *userManager) {
		const home = "/run/home"
		m := newUser(t)
		program := home + "/.local/bin/bareclaw"
		m.env = []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + runtimeDir, "PATH=" + home + "/.local/bin:/usr/bin:/bin", "GORACE=atexit_sleep_ms=0"}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(self)
		if err == nil {
			err = os.MkdirAll(home+"/.local/bin", 0o700)
		}
		if err == nil {
			err = writeProgram(program, b)
		}
		if err == nil {
			err = writeProgram(home+"/.local/bin/claude", []byte("#!/bin/sh\nexec "+fakeClaude(t)+" \"$@\"\n"))
		}
		if err != nil {
			t.Fatal(err)
		}
		if out, err := manager.systemctl("set-environment", "GORACE=atexit_sleep_ms=0"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		init := func(args ...string) string {
			t.Helper()
			cmd := m.command(append([]string{"init", "--yes"}, args...)...)
			cmd.Path = program
			cmd.Args[0] = program
			out, _ := cmd.CombinedOutput()
			if status := cmd.ProcessState.ExitCode(); status != 0 {
				t.Errorf("exit status %d", status)
			}
			return string(out)
		}
		says := func(out string, texts ...string) {
			t.Helper()
			for _, text := range texts {
				if !strings.Contains(out, text) {
					t.Errorf("it does not say %q:\n%s", text, out)
				}
			}
		}
		property := func(unit, name string) string {
			out, err := manager.systemctl("show", "--value", "--property="+name, unit)
			if err != nil {
				t.Errorf("systemctl show %s: %v: %s", unit, err, out)
			}
			return out
		}
		settings := func() string {
			b, err := os.ReadFile(home + "/.config/bareclaw/.env")
			if err != nil {
				t.Error(err)
			}
			return string(b)
		}

		says(init("--port", freePort(t)), "systemd keeps the gateway running", "Done: answered in", "All set.")
		pid := property("bareclaw.service", "MainPID")
		if property("bareclaw.service", "ActiveState") != "active" || property("bareclaw-heartbeat.timer", "ActiveState") != "active" || pid == "0" {
			t.Errorf("the service is not active, or its timer")
		}
		before := settings()

		says(init(), "Fine: systemd keeps the gateway running", "All set.")
		if settings() != before || property("bareclaw.service", "MainPID") != pid {
			t.Error("the second run has changed something")
		}

		port := freePort(t)
		says(init("--port", port), "the gateway was restarted with the new settings", "All set.", "127.0.0.1:"+port)
		if !strings.Contains(settings(), "BARECLAW_PORT="+port+"\n") || property("bareclaw.service", "ActiveState") != "active" {
			t.Errorf("the new port did not apply:\n%s", settings())
		}
	})
}
