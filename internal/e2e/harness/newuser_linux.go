package harness

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"bareclaw/core/config"
	"bareclaw/internal/testkit/check"
)

// NewUser makes the machine of a user who sees the program for the first time: the home is
// empty, and the environment has no settings. claude is on the PATH, and logged in while the
// home has a file .logged-in.
func NewUser(t *testing.T) *Machine {
	t.Helper()
	m := NewMachine(t)
	m.Env = []string{
		"HOME=" + m.Path("home"), "PATH=" + m.Path("bin") + ":/usr/bin:/bin", "TERM=xterm", "LANG=C.UTF-8",
		"FAKECLAUDE_LOG=" + m.Path("journal"), "REAL_CLAUDE=" + FakeClaude(t),
		"GORACE=atexit_sleep_ms=0 " + os.Getenv("GORACE"),
	}
	m.Env = append(m.Env, Readable()...)
	m.Write("bin/claude", ClaudeWithLogin, 0o700)
	m.Touch("home/.logged-in")
	// The machine cleans up by what is below its state directory.
	state := m.Path("home/.local/state/bareclaw")
	check.OK(t, os.MkdirAll(state, 0o700))
	check.OK(t, os.Remove(m.Path("state")))
	check.OK(t, os.Symlink(state, m.Path("state")))
	return m
}

// ClaudeWithLogin is the scripted claude where there is a login, which is also the token in the
// file .accepts, and otherwise says what the real one says.
const ClaudeWithLogin = `#!/bin/sh
if [ -e "$HOME/.logged-in" ] || [ "$CLAUDE_CODE_OAUTH_TOKEN" = "$(cat "$HOME/.accepts" 2>/dev/null || echo none)" ] || [ "$1" = --version ]; then exec "$REAL_CLAUDE" "$@"; fi
read -r line
printf '%s\n' '{"type":"control_response","response":{"subtype":"success","request_id":"doctor","response":{}}}'
read -r line
uuid=$(printf '%s' "$line" | sed 's/.*"uuid":"\([^"]*\)".*/\1/')
printf '%s\n' '{"type":"result","subtype":"success","is_error":true,"result":"Not logged in · Please run /login","session_id":"x","user_message_uuids":["'"$uuid"'"]}'
`

// OnScreen runs a command in a terminal.
func (m *Machine) OnScreen(args ...string) *Display {
	m.T.Helper()
	x := m.Displayed(m.Prepare(args...))
	x.KeepsOutput()
	return x
}

// KeepsOutput has a terminal not throw away, at Ctrl-C, what it was given to show and
// has not shown yet: the command's last words may be among it.
func (x *Display) KeepsOutput() {
	x.T.Helper()
	conn, err := x.End.SyscallConn()
	check.OK(x.T, err)
	var failed error
	err = conn.Control(func(fd uintptr) {
		mode, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
		if err == nil {
			mode.Lflag |= unix.NOFLSH
			err = unix.IoctlSetTermios(int(fd), unix.TCSETS, mode)
		}
		failed = err
	})
	check.OK(x.T, errors.Join(err, failed))
}

// CheckSaved holds the settings on disk to some values and returns the file.
func (m *Machine) CheckSaved(t *testing.T, want map[string]string) string {
	t.Helper()
	info, err := os.Stat(m.Path(EnvFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the settings: %v, %v", info, err)
	}
	vars, err := config.ReadDotEnv(m.Path(EnvFile))
	check.OK(t, err)
	for name, value := range want {
		if vars[name] != value {
			t.Errorf("%s is %q, want %q", name, vars[name], value)
		}
	}
	return m.Contents(EnvFile)
}
