package e2e

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

const terminalColumns, terminalRows = 100, 40

// A display is what a person sees of a command of this program, and types.
type display struct {
	t    testing.TB
	cmd  *exec.Cmd
	end  *os.File // ours of the pseudo terminal
	vt   vt10x.Terminal
	done chan struct{} // closed when the command has ended and all it wrote is seen
	err  error         // of Wait, valid after done

	mu      sync.Mutex    // guards the fields below
	raw     []byte        // everything that was written
	held    []byte        // the end of it, which the emulator has not got yet
	text    string        // what was written before that, as it is read from top to bottom
	seen    int           // how much of the text was read
	changed chan struct{} // closed when there is more of it
}

// display runs a command of the program on the machine, in its work directory.
func (m *machine) display(args ...string) *display {
	m.t.Helper()
	self := bareclaw(m.t)
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.Env = m.path("work"), append(slices.Clone(m.env), "TERM=xterm-256color")
	return m.displayed(cmd)
}

// displayed starts a command in a terminal.
func (m *machine) displayed(cmd *exec.Cmd) *display {
	m.t.Helper()
	x := &display{t: m.t, cmd: cmd, done: make(chan struct{}), changed: make(chan struct{})}
	var err error
	x.end, err = pty.StartWithSize(x.cmd, &pty.Winsize{Cols: terminalColumns, Rows: terminalRows})
	if err != nil {
		m.t.Fatalf("start %v in a terminal: %v", cmd.Args, err)
	}
	x.vt = vt10x.New(vt10x.WithWriter(x.end), vt10x.WithSize(terminalColumns, terminalRows))
	go func() {
		_, _ = io.Copy(x, x.end) // ends with an error when nobody has the other end any more
		x.err = x.cmd.Wait()
		close(x.done)
	}()
	m.t.Cleanup(func() {
		_ = x.cmd.Process.Kill()
		<-x.done
		_ = x.end.Close()
		if m.t.Failed() {
			m.t.Logf("the terminal of %v:\n%s\nof all that was written:\n%s", cmd.Args[1:], x.screen(), x.shown())
		}
	})
	return x
}

// Write takes up what the command has written.
func (x *display) Write(b []byte) (int, error) {
	x.mu.Lock()
	x.raw = append(x.raw, b...)
	known := notKnown.ReplaceAll(append(x.held, b...), nil)
	whole := len(known)
	if i := bytes.LastIndexByte(known, 0x1b); i >= 0 && incomplete.Match(known[i:]) {
		whole = i
	}
	x.held = slices.Clone(known[whole:])
	x.text += strings.ReplaceAll(escapes.ReplaceAllString(string(known[:whole]), ""), "\r", "")
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
	// escapes colour, move and erase.
	escapes = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)
	// incomplete is the beginning of an escape sequence.
	incomplete = regexp.MustCompile(`^\x1b(\[[<>=?]?[0-9;]*)?$`)
)

// written returns everything that was written, with its escape sequences.
func (x *display) written() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return string(x.raw)
}

// shown returns all that was written as text.
func (x *display) shown() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.text
}

// screen returns what is to be seen, without the blanks at the ends.
func (x *display) screen() string {
	var lines []string
	for line := range strings.Lines(x.vt.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// sees waits until all of the texts are to be seen.
func (x *display) sees(texts ...string) {
	x.t.Helper()
	x.waits("sees "+strings.Join(texts, ", "), func(screen string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(screen, text) })
	})
}

// waits waits until the screen is as it should be.
func (x *display) waits(what string, right func(screen string) bool) {
	x.t.Helper()
	for deadline := time.Now().Add(patience); !right(x.screen()); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			x.t.Fatalf("waited in vain until the terminal %s; it shows\n%s", what, x.screen())
		}
	}
}

// Keys, as a terminal sends them.
const (
	keyEnter  = "\r"
	keyCtrlC  = "\x03"
	keyCtrlD  = "\x04"
	keyEscape = "\x1b"
	keyUp     = "\x1b[A"
)

// types types keys.
func (x *display) types(keys string) {
	x.t.Helper()
	if _, err := io.WriteString(x.end, keys); err != nil {
		x.t.Fatalf("type %q: %v", keys, err)
	}
}

// enters types a line.
func (x *display) enters(line string) {
	x.t.Helper()
	x.types(line)
	x.sees(line[max(0, len(line)-20):])
	x.types(keyEnter)
}

// ends waits until the command has ended, and returns its exit status.
func (x *display) ends() int {
	x.t.Helper()
	select {
	case <-x.done:
	case <-time.After(patience):
		x.t.Fatalf("the command does not end; the terminal shows\n%s", x.screen())
	}
	return x.cmd.ProcessState.ExitCode()
}

// exits is ends, fails unless the command has that exit status, and returns everything
// that was written.
func (x *display) exits(status int) string {
	x.t.Helper()
	if got := x.ends(); got != status {
		x.t.Errorf("exit status %d, want %d", got, status)
	}
	return strings.ReplaceAll(x.written(), "\r\n", "\n")
}

// expect waits until a text is shown after what was read before, and reads up to it.
func (x *display) expect(text string) {
	x.t.Helper()
	if x.expectOneOf(text) != text {
		x.t.Fatalf("%q was never shown", text)
	}
}

// expectOneOf is expect for what comes first of several texts, empty if the command
// ends before.
func (x *display) expectOneOf(texts ...string) string {
	x.t.Helper()
	timeout := time.After(patience)
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
		case <-x.done:
			ended = true
		case <-timeout:
			x.t.Fatalf("waited in vain for %q", texts)
		}
	}
}

// asks waits until something is asked, and reads up to there.
func (x *display) asks() {
	x.t.Helper()
	for {
		x.expect(": ")
		x.mu.Lock()
		waits := x.seen == len(x.text)
		x.mu.Unlock()
		if waits {
			return
		}
	}
}

// answer waits for a question and types an answer.
func (x *display) answer(question, answer string) {
	x.t.Helper()
	x.expect(question)
	x.types(answer + "\n")
}
