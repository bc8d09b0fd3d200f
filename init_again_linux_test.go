package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestInitWithEveryStepSkipped makes no file of settings, and says so.
func TestInitWithEveryStepSkipped(t *testing.T) {
	t.Parallel()
	m := newUser(t)
	s := m.onScreen("init", "--no-service", "--no-start", "--no-doctor")
	for _, question := range []string{"Ask Claude", "Port [", "Token of your Telegram bot"} {
		s.answer(question, "s")
	}
	s.expect("every setting has its default")
	s.expect("All set.")
	s.ends()
	if _, err := os.Stat(m.path(envFile)); !os.IsNotExist(err) {
		t.Errorf("there is a file of settings: %v", err)
	}
}

// TestInitTellsTheAddress tells where the gateway listens that was told to pick a port,
// and that it does not heed a file of settings which it does not read.
func TestInitTellsTheAddress(t *testing.T) {
	t.Parallel()
	m := newUser(t)
	args := []string{"init", "--yes", "--no-service", "--no-doctor"}
	stdout, _, status := m.runs("", append(args, "--port", "0")...)
	if status != 0 || !regexp.MustCompile(`http://127\.0\.0\.1:[1-9]`).MatchString(stdout) {
		t.Errorf("exit status %d\n%s", status, stdout)
	}
	stdout, _, status = m.runs("", append(args, "--env-file", m.path("other"), "--port", freePort(t))...)
	if status != 1 || !strings.Contains(stdout, "does not read "+m.path("other")) || !strings.Contains(stdout, "kill ") {
		t.Errorf("exit status %d\n%s", status, stdout)
	}
}

// TestInitSaysHowToGoOn names the doctor where a step does not know better.
func TestInitSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	m := newUser(t)
	m.write("file", "no directory", 0o600)
	m.env = append(m.env, "BARECLAW_STATE_DIR="+m.path("file/state"), "BARECLAW_PORT="+freePort(t))
	stdout, stderr, status := m.runs("", "init", "--yes", "--no-turn", "--no-service", "--no-doctor")
	if status != 1 || !strings.Contains(stdout, "see what `bareclaw doctor` says") {
		t.Errorf("exit status %d\n%s%s", status, stdout, stderr)
	}
}
