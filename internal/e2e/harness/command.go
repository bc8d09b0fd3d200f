package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"bareclaw/internal/testkit/check"
)

// IsEnded types half a line into a chat and sends the chat a signal. IsEnded fails unless the
// chat ends and leaves the terminal as it was.
func (x *Display) IsEnded(s syscall.Signal) {
	x.T.Helper()
	x.Types("half written")
	x.Sees("half written")
	check.OK(x.T, x.Cmd.Process.Signal(s))
	x.Ends()
	if !strings.Contains(x.Written(), "\x1b[?2004l") {
		x.T.Errorf("%s: pastes are marked still", s)
	}
}

// An Invocation is one run of a command of the program.
type Invocation struct {
	t        testing.TB
	Cmd      *exec.Cmd
	Out, Err LockedBuffer
	Done     chan struct{} // closed when it has ended
}

// Prepare makes a command of the program on the machine.
func (m *Machine) Prepare(args ...string) *exec.Cmd {
	m.T.Helper()
	cmd := exec.Command(m.Executable(), args...)
	cmd.Env, cmd.Dir = slices.Clone(m.Env), m.Path("work")
	return cmd
}

// Invoke starts a command on the machine.
func (m *Machine) Invoke(stdin io.Reader, args ...string) *Invocation {
	m.T.Helper()
	cmd := m.Prepare(args...)
	cmd.Stdin = stdin
	return m.InvokeCmd(cmd)
}

// InvokeCmd starts a command that was prepared.
func (m *Machine) InvokeCmd(cmd *exec.Cmd) *Invocation {
	m.T.Helper()
	i := &Invocation{t: m.T, Cmd: cmd, Done: make(chan struct{})}
	i.Cmd.Stdout, i.Cmd.Stderr = &i.Out, &i.Err
	check.OK(m.T, i.Cmd.Start())
	go func() {
		_ = i.Cmd.Wait()
		close(i.Done)
	}()
	m.T.Cleanup(func() {
		_ = i.Cmd.Process.Kill()
		<-i.Done
	})
	return i
}

// Wait waits for the end of the command and fails unless the command has the exit status
// and has printed no control characters.
func (i *Invocation) Wait(status int) *Invocation {
	i.t.Helper()
	i.Ends(status)
	if s := i.Out.String() + i.Err.String(); strings.ContainsFunc(s, func(r rune) bool { return r != '\t' && CommandsTerminal(r) }) {
		i.t.Errorf("%v prints control characters: %q", i.Cmd.Args[1:], s)
	}
	return i
}

// Ends is Wait for a command that may print control characters.
func (i *Invocation) Ends(status int) *Invocation {
	i.t.Helper()
	await(i.t, i.Done, func() string {
		return fmt.Sprintf("%v does not end; it says\n%s%s", i.Cmd.Args[1:], i.Out.String(), i.Err.String())
	})
	if got := i.Cmd.ProcessState.ExitCode(); got != status {
		i.t.Fatalf("%v: exit status %d, want %d; it says\n%s%s", i.Cmd.Args[1:], got, status, i.Out.String(), i.Err.String())
	}
	return i
}

// Says waits for the end of a command, which may take as long as a trial, and fails unless
// the command has that exit status and has printed the words.
func (i *Invocation) Says(status int, words string) {
	i.t.Helper()
	<-i.Done
	said := i.Out.String() + i.Err.String()
	if got := i.Cmd.ProcessState.ExitCode(); got != status || !strings.Contains(said, words) {
		i.t.Errorf("%v: exit status %d, want %d with %q; it says\n%s", i.Cmd.Args[1:], got, status, words, said)
	}
}

// Prints fails unless the output is exactly that.
func (i *Invocation) Prints(want string) *Invocation {
	i.t.Helper()
	if got := i.Out.String(); got != want {
		i.t.Errorf("%v prints %q, want %q", i.Cmd.Args[1:], got, want)
	}
	return i
}

// Shows fails unless the output has all of that.
func (i *Invocation) Shows(pieces ...string) *Invocation {
	i.t.Helper()
	for _, want := range pieces {
		if got := i.Out.String(); !strings.Contains(got, want) {
			i.t.Errorf("%v prints no %q:\n%s", i.Cmd.Args[1:], want, got)
		}
	}
	return i
}

// Tells fails unless all of that is on standard error.
func (i *Invocation) Tells(pieces ...string) *Invocation {
	i.t.Helper()
	for _, want := range pieces {
		if got := i.Err.String(); !strings.Contains(got, want) {
			i.t.Errorf("%v tells nothing of %q:\n%s", i.Cmd.Args[1:], want, got)
		}
	}
	return i
}

// Document returns the one JSON document that was printed.
func (i *Invocation) Document() Answer {
	i.t.Helper()
	a := Answer{Body: []byte(i.Out.String())}
	dec := json.NewDecoder(bytes.NewReader(a.Body))
	if err := dec.Decode(&a.JSON); err != nil {
		i.t.Fatalf("%v prints no JSON: %v\n%s", i.Cmd.Args[1:], err, a.Body)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		i.t.Errorf("%v prints more than one document:\n%s", i.Cmd.Args[1:], a.Body)
	}
	return a
}

// Command runs a command that has to end with that status.
func (m *Machine) Command(status int, args ...string) *Invocation {
	m.T.Helper()
	return m.Invoke(nil, args...).Wait(status)
}

// Begins waits until a turn with that text has begun.
func (m *Machine) Begins(text string) {
	m.T.Helper()
	m.Eventually("the turn runs", func() bool { return m.Begun(text) > 0 })
}

// Installed has the program be found as bareclaw on the machine.
func (m *Machine) Installed() {
	m.T.Helper()
	check.OK(m.T, errors.Join(os.Mkdir(m.Path("bin"), 0o700), os.Symlink(Bareclaw(m.T), m.Path("bin/bareclaw"))))
	m.Env = append(m.Env, "PATH="+m.Path("bin")+":"+os.Getenv("PATH"))
}

// CommandsTerminal reports whether a terminal acts on a character instead of showing it.
func CommandsTerminal(r rune) bool {
	return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

// Coloured is output of a program that may be piped into send, and ColoursShown the same
// output as commands show it on a terminal.
const (
	Coloured      = "\x1b[31mFAIL\x1b[0m \u009b1m\x07 \u202ebuild"
	ColoursShown  = "\uFFFD[31mFAIL\uFFFD[0m \uFFFD1m\uFFFD \uFFFDbuild"
	ColourChannel = "desk"
)
