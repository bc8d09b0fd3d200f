package harness

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"

	"bareclaw/internal/testkit/check"
)

// TerminalColumns is the width of every terminal of the tests.
const TerminalColumns, terminalRows = 100, 40

// A Display is what a person sees of a command of this program, and types.
type Display struct {
	T    testing.TB
	Cmd  *exec.Cmd
	End  *os.File // ours of the pseudo terminal
	vt   vt10x.Terminal
	Done chan struct{} // closed when the command has ended and all it wrote is seen
	err  error         // of Wait, valid after done

	mu      sync.Mutex    // guards the fields below
	raw     []byte        // everything that was written
	held    []byte        // the end of it, which the emulator has not got yet
	text    string        // what was written before that, as it is read from top to bottom
	seen    int           // how much of the text was read
	changed chan struct{} // closed when there is more of it
}

// OnTerminal runs the program on a terminal of that width and returns what that was told.
func (m *Machine) OnTerminal(columns uint16, args ...string) string {
	m.T.Helper()
	cmd := m.Prepare(args...)
	cmd.Stdin = strings.NewReader("")
	screen, err := pty.StartWithAttrs(cmd, &pty.Winsize{Rows: terminalRows, Cols: columns}, &syscall.SysProcAttr{})
	check.OK(m.T, err)
	defer screen.Close()
	said, err := io.ReadAll(screen)
	if err != nil && !errors.Is(err, syscall.EIO) { // which is the end
		m.T.Fatal(err)
	}
	_ = cmd.Wait() // its status tells what it found
	return string(said)
}

// Displayed starts a command in a terminal.
func (m *Machine) Displayed(cmd *exec.Cmd) *Display {
	m.T.Helper()
	x := &Display{T: m.T, Cmd: cmd, Done: make(chan struct{}), changed: make(chan struct{})}
	var err error
	x.End, err = pty.StartWithSize(x.Cmd, &pty.Winsize{Cols: TerminalColumns, Rows: terminalRows})
	if err != nil {
		m.T.Fatalf("start %v in a terminal: %v", cmd.Args, err)
	}
	x.vt = vt10x.New(vt10x.WithWriter(x.End), vt10x.WithSize(TerminalColumns, terminalRows))
	go func() {
		_, _ = io.Copy(x, x.End) // ends with an error when nobody has the other end any more
		x.err = x.Cmd.Wait()
		close(x.Done)
	}()
	m.T.Cleanup(func() {
		_ = x.Cmd.Process.Kill()
		<-x.Done
		_ = x.End.Close()
		if m.T.Failed() {
			m.T.Logf("the terminal of %v:\n%s\nof all that was written:\n%s", cmd.Args[1:], x.screen(), x.Shown())
		}
	})
	return x
}

// Write takes up what the command has written.
func (x *Display) Write(b []byte) (int, error) {
	x.mu.Lock()
	x.raw = append(x.raw, b...)
	known := notKnown.ReplaceAll(append(x.held, b...), nil)
	whole := len(known)
	if i := bytes.LastIndexByte(known, 0x1b); i >= 0 && incomplete.Match(known[i:]) {
		whole = i
	}
	x.held = slices.Clone(known[whole:])
	x.text += strings.ReplaceAll(Escapes.ReplaceAllString(string(known[:whole]), ""), "\r", "")
	close(x.changed)
	x.changed = make(chan struct{})
	x.mu.Unlock()
	if _, err := x.vt.Write(known[:whole]); err != nil {
		return 0, err
	}
	return len(b), nil
}

var (
	// notKnown are requests of the keyboard protocol, which the emulator takes for
	// others: https://sw.kovidgoyal.net/kitty/keyboard-protocol/
	notKnown = regexp.MustCompile(`\x1b\[[<>=?][0-9;]*u`)
	// Escapes colour, move and erase.
	Escapes = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)
	// incomplete is the beginning of an escape sequence.
	incomplete = regexp.MustCompile(`^\x1b(\[[<>=?]?[0-9;]*)?$`)
)

// Written returns everything that was written, with its escape sequences.
func (x *Display) Written() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return string(x.raw)
}

// Shown returns all that was written as text.
func (x *Display) Shown() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.text
}

// screen returns what is to be seen, without the blanks at the ends.
func (x *Display) screen() string {
	var lines []string
	for line := range strings.Lines(x.vt.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// Sees waits until all of the texts are to be seen.
func (x *Display) Sees(texts ...string) {
	x.T.Helper()
	x.Waits("sees "+strings.Join(texts, ", "), func(screen string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(screen, text) })
	})
}

// Waits waits until the screen is as it should be.
func (x *Display) Waits(what string, right func(screen string) bool) {
	x.T.Helper()
	for deadline := time.Now().Add(Patience); !right(x.screen()); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			x.T.Fatalf("waited in vain until the terminal %s; it shows\n%s", what, x.screen())
		}
	}
}

// Keys, as a terminal sends them.
const (
	KeyEnter  = "\r"
	KeyCtrlC  = "\x03"
	KeyCtrlD  = "\x04"
	KeyEscape = "\x1b"
	KeyUp     = "\x1b[A"
)

// Types types keys.
func (x *Display) Types(keys string) {
	x.T.Helper()
	if _, err := io.WriteString(x.End, keys); err != nil {
		x.T.Fatalf("type %q: %v", keys, err)
	}
}

// Enters types a line.
func (x *Display) Enters(line string) {
	x.T.Helper()
	x.Types(line)
	x.Sees(line[max(0, len(line)-20):])
	x.Types(KeyEnter)
}

// Ends waits until the command has ended, and returns its exit status.
func (x *Display) Ends() int {
	x.T.Helper()
	await(x.T, x.Done, func() string { return "the command does not end; the terminal shows\n" + x.screen() })
	return x.Cmd.ProcessState.ExitCode()
}

// Exits waits for the end of the command, fails unless it has the exit status, and returns
// everything that was written.
func (x *Display) Exits(status int) string {
	x.T.Helper()
	if got := x.Ends(); got != status {
		x.T.Errorf("exit status %d, want %d", got, status)
	}
	return strings.ReplaceAll(x.Written(), "\r\n", "\n")
}

// Expect waits until a text is shown after what was read before, and reads up to it.
func (x *Display) Expect(text string) {
	x.T.Helper()
	if x.ExpectOneOf(text) != text {
		x.T.Fatalf("%q was never shown", text)
	}
}

// ExpectOneOf is Expect for several texts. It returns the text that comes first, or "" if
// the command ends before.
func (x *Display) ExpectOneOf(texts ...string) string {
	x.T.Helper()
	timeout := time.After(Patience)
	for ended := false; ; {
		x.mu.Lock()
		unread, changed := x.text[x.seen:], x.changed
		first, at := "", len(unread)
		for _, text := range texts {
			if i := strings.Index(unread, text); i >= 0 && i < at {
				first, at = text, i
			}
		}
		if first != "" {
			x.seen += at + len(first)
		}
		x.mu.Unlock()
		if first != "" || ended {
			return first
		}
		select {
		case <-changed:
		case <-x.Done:
			ended = true
		case <-timeout:
			x.T.Fatalf("waited in vain for %q", texts)
		}
	}
}

// Asks waits until something is asked, and reads up to there.
func (x *Display) Asks() {
	x.T.Helper()
	for {
		x.Expect(": ")
		x.mu.Lock()
		waits := x.seen == len(x.text)
		x.mu.Unlock()
		if waits {
			return
		}
	}
}

// Answer waits for a question and types an answer.
func (x *Display) Answer(question, answer string) {
	x.T.Helper()
	x.Expect(question)
	x.Types(answer + "\n")
}
