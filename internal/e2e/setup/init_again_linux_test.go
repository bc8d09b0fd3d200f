package setup

import (
	"database/sql"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/testkit/check"
)

// TestInitWithEveryStepSkipped makes no file of settings, and says so.
func TestInitWithEveryStepSkipped(t *testing.T) {
	t.Parallel()
	m := harness.NewUser(t)
	s := m.OnScreen("init", "--no-service", "--no-start", "--no-doctor")
	for _, question := range []string{"Ask Claude", "Port [", "1, 2 or 3", "Token of your Telegram bot"} {
		s.Answer(question, "s")
	}
	s.Expect("every setting has its default")
	s.Expect("All set.")
	s.Ends()
	if _, err := os.Stat(m.Path(harness.EnvFile)); !os.IsNotExist(err) {
		t.Errorf("there is a file of settings: %v", err)
	}
}

// TestInitTellsTheAddress tells where the gateway listens that was told to pick a port.
func TestInitTellsTheAddress(t *testing.T) {
	t.Parallel()
	m := harness.NewUser(t)
	args := []string{"--yes", "--no-service", "--no-doctor"}
	stdout := runs(m, exitcode.OK, "", append(args, "--port", "0")...).Out.String()
	if !regexp.MustCompile(`http://127\.0\.0\.1:[1-9]`).MatchString(stdout) {
		t.Errorf("it says\n%s", stdout)
	}
}

// TestInitInterruptedWhileTheGatewayStarts says that it goes on starting.
func TestInitInterruptedWhileTheGatewayStarts(t *testing.T) {
	t.Parallel()
	m := harness.NewUser(t)
	db, err := sql.Open("sqlite", m.Path("state/ledger.db"))
	check.OK(t, err)
	db.SetMaxOpenConns(1) // which holds the lock
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil { // for which the gateway waits
		t.Fatal(err)
	}
	s := m.OnScreen("init", "--no-turn", "--no-service", "--no-doctor")
	for _, answer := range []string{harness.FreePort(t), "", "", "", "", "", "y"} {
		s.Asks()
		s.Types(answer + "\n")
		s.Expect("\n")
	}
	m.Eventually("the gateway was started", func() bool { return len(m.Glob("state/bareclaw.log")) == 1 })
	m.Eventually("the gateway is there", func() bool { return len(m.Glob("state/daemon.lock")) == 1 })
	s.Types("\x03")
	s.Expect("The gateway was started and runs on")
	s.Exits(130)
}

// TestInitSaysHowToGoOn names the doctor where a step does not know better.
func TestInitSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	m := harness.NewUser(t)
	m.Write("file", "no directory", 0o600)
	m.Env = append(m.Env, "BARECLAW_STATE_DIR="+m.Path("file/state"), "BARECLAW_PORT="+harness.FreePort(t))
	runs(m, exitcode.Failed, "", "--yes", "--no-turn", "--no-service", "--no-doctor").Shows("see what `bareclaw doctor` says")
}

// quietly are the flags of an init that writes settings and does nothing else.
var quietly = []string{"--yes", "--no-service", "--no-start", "--no-doctor"}

// runs runs init with that on its standard input. It has to end with that status.
func runs(m *harness.Machine, status int, stdin string, args ...string) *harness.Invocation {
	m.T.Helper()
	return m.Invoke(strings.NewReader(stdin), append([]string{"init"}, args...)...).Wait(status)
}

// echoes reports whether the terminal shows what is typed.
func echoes(x *harness.Display) bool {
	x.T.Helper()
	state, err := unix.IoctlGetTermios(int(x.End.Fd()), unix.TCGETS)
	check.OK(x.T, err)
	return state.Lflag&unix.ECHO != 0
}
