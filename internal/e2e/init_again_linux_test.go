package e2e

import (
	"database/sql"
	"os"
	"regexp"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // as "sqlite"
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
	if status != 1 || !strings.Contains(stdout, "does not read "+m.path("other")) || !strings.Contains(stdout, "bareclaw stop") {
		t.Errorf("exit status %d\n%s", status, stdout)
	}
}

// TestInitInterruptedWhileTheGatewayStarts says that it goes on starting.
func TestInitInterruptedWhileTheGatewayStarts(t *testing.T) {
	t.Parallel()
	m := newUser(t)
	db, err := sql.Open("sqlite", m.path("state/ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1) // which holds the lock
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil { // for which the gateway waits
		t.Fatal(err)
	}
	s := m.onScreen("init", "--no-turn", "--no-service", "--no-doctor")
	for _, answer := range []string{freePort(t), "", "", "", "y"} {
		s.asks()
		s.types(answer + "\n")
		s.expect("\n")
	}
	m.eventually("the gateway was started", func() bool { return len(m.glob("state/bareclaw.log")) == 1 })
	m.eventually("the gateway is there", func() bool { return len(m.glob("state/daemon.lock")) == 1 })
	s.types("\x03")
	s.expect("The gateway was started and runs on")
	if status := s.ends(); status != 130 {
		t.Errorf("exit status %d, want 130", status)
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
