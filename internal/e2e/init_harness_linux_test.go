package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A newcomer is a machine of somebody who sees the program for the first time.
type newcomer struct{ *machine }

// newUser makes a machine with an empty home, where no setting is in the environment.
// Claude is found by its name, and logged in while .logged-in is in the home.
func newUser(t *testing.T) newcomer {
	t.Helper()
	m := newcomer{newMachine(t)}
	m.env = []string{
		"HOME=" + m.path("home"), "PATH=" + m.path("bin") + ":/usr/bin:/bin", "TERM=xterm", "LANG=C.UTF-8",
		"FAKECLAUDE_LOG=" + m.path("journal"), "REAL_CLAUDE=" + fakeClaude(t),
		"GORACE=atexit_sleep_ms=0 " + os.Getenv("GORACE"),
	}
	m.write("bin/claude", claudeWithLogin, 0o700)
	m.touch("home/.logged-in")
	// The machine cleans up by what is below its state directory.
	state := m.path("home/.local/state/bareclaw")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(m.path("state")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(state, m.path("state")); err != nil {
		t.Fatal(err)
	}
	return m
}

// claudeWithLogin is the scripted claude where there is a login, and otherwise says
// what the real one says.
const claudeWithLogin = `#!/bin/sh
if [ -e "$HOME/.logged-in" ] || [ "$1" = --version ]; then exec "$REAL_CLAUDE" "$@"; fi
read -r line
printf '%s\n' '{"type":"control_response","response":{"subtype":"success","request_id":"doctor","response":{}}}'
read -r line
uuid=$(printf '%s' "$line" | sed 's/.*"uuid":"\([^"]*\)".*/\1/')
printf '%s\n' '{"type":"result","subtype":"success","is_error":true,"result":"Not logged in · Please run /login","session_id":"x","user_message_uuids":["'"$uuid"'"]}'
`

// write makes a file of the machine.
func (m newcomer) write(name, text string, mode os.FileMode) {
	m.t.Helper()
	m.machine.write(name, text, mode)
}

// read returns a file of the machine, empty if there is none.
func (m newcomer) contents(name string) string {
	b, err := os.ReadFile(m.path(name))
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	return string(b)
}

const envFile = "home/.config/bareclaw/.env"

// command is a command of the program as the machine's user types it.
func (m newcomer) command(args ...string) *exec.Cmd {
	m.t.Helper()
	self := bareclaw(m.t)
	cmd := exec.Command(self, args...)
	cmd.Env, cmd.Dir = slices.Clone(m.env), m.path("work")
	return cmd
}

// runs runs a command with that on its standard input and returns its output and exit
// status.
func (m newcomer) runs(stdin string, args ...string) (stdout, stderr string, status int) {
	m.t.Helper()
	cmd := m.command(args...)
	var out, err bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &err
	_ = cmd.Run() // the status tells
	_, _ = m.log.Write(err.Bytes())
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

// onScreen runs a command in a terminal.
func (m newcomer) onScreen(args ...string) *display {
	m.t.Helper()
	x := m.displayed(m.command(args...))
	x.keepsOutput()
	return x
}

// keepsOutput has a terminal not throw away, at Ctrl-C, what it was given to show and
// has not shown yet: the command's last words may be among it.
func (x *display) keepsOutput() {
	x.t.Helper()
	conn, err := x.end.SyscallConn()
	if err != nil {
		x.t.Fatal(err)
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		mode, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
		if err == nil {
			mode.Lflag |= unix.NOFLSH
			err = unix.IoctlSetTermios(int(fd), unix.TCSETS, mode)
		}
		failed = err
	})
	if err := errors.Join(err, failed); err != nil {
		x.t.Fatal(err)
	}
}

// echoes reports whether the terminal shows what is typed.
func (x *display) echoes() bool {
	x.t.Helper()
	state, err := unix.IoctlGetTermios(int(x.end.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}
