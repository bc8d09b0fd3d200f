package setup

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	xterm "golang.org/x/term"

	"bareclaw/internal/steps"
	"bareclaw/internal/term"
)

// errEnd means that the terminal has ended, by Ctrl-D or a hang-up.
var errEnd = errors.New("the input has ended")

// A terminal writes for a person and asks questions, a line each, without colours and cursor
// movements: questions must work over any connection and with screen readers.
type terminal struct {
	out     io.Writer
	in      *os.File // nil: nothing is asked
	lines   *bufio.Reader
	before  *xterm.State // initial state; nil if unknown
	pending chan string  // gets the line of an unfinished read, and is closed without one
}

// newTerminal returns a terminal that asks nothing if in is nil.
func newTerminal(in *os.File, out io.Writer) terminal {
	t := terminal{out: out, in: in}
	if in != nil {
		t.lines = bufio.NewReader(in)
		t.before, _ = xterm.GetState(int(in.Fd())) // nil without a terminal
	}
	return t
}

// restore resets the terminal, for example after an interrupted question for a secret.
func (t *terminal) restore() {
	if t.before != nil {
		_ = xterm.Restore(int(t.in.Fd()), t.before)
	}
}

// asks reports whether there is somebody to ask.
func (t *terminal) asks() bool { return t.in != nil }

// ask repeats a question until there is an answer. An empty answer means the value in
// brackets. The error is steps.ErrSkipped, errEnd or ctx's error.
func (t *terminal) ask(ctx context.Context, q steps.Question) (string, error) {
	text := q.Text + ":"
	if q.Has != "" {
		text = q.Text + " [" + term.SafeLine(q.Has) + "]:"
	}
	for {
		hidden := q.Secret && hideTyping(int(t.in.Fd())) == nil // before the question, to show no character
		_, _ = fmt.Fprint(t.out, term.WrapIndented(t.out, steps.Indent, text)+" ")
		line, err := t.read(ctx)
		if hidden {
			t.restore()
			t.say("") // the typed line end was hidden
		}
		if err != nil {
			t.say("")
			return "", err
		}
		switch line {
		case "?":
			t.note("%s", q.Help+"\nEnter takes what is in brackets, s skips this step, Ctrl-C ends.")
		case "s":
			return "", steps.ErrSkipped
		default:
			return line, nil
		}
	}
}

// confirm asks a question of yes or no, where an empty line is yes.
func (t *terminal) confirm(ctx context.Context, text, help string) (bool, error) {
	letter, err := t.pick(ctx, steps.Question{Text: text, Help: help, Has: "Y/n"})
	return letter == "y", err
}

// agree is confirm for a question where skipping means no. Where nobody is asked, agree
// means yes.
func (t *terminal) agree(ctx context.Context, text, help string) (bool, error) {
	if !t.asks() {
		return true, nil
	}
	yes, err := t.confirm(ctx, text, help)
	if errors.Is(err, steps.ErrSkipped) {
		return false, nil
	}
	return yes, err
}

// pick asks a question whose answers are the letters in brackets, or the words that begin
// with them. An empty line is the capital letter.
func (t *terminal) pick(ctx context.Context, q steps.Question) (letter string, err error) {
	letters := strings.Split(strings.ToLower(q.Has), "/")
	for {
		line, err := t.ask(ctx, q)
		if err != nil {
			return "", err
		}
		line = strings.ToLower(cmp.Or(line, strings.Trim(q.Has, "/nry")))
		if first := line[:1]; slices.Contains(letters, first) && slices.Contains([]string{first, "yes", "no", "revive"}, line) {
			return first, nil
		}
		last := len(letters) - 1
		t.say(steps.Indent+"Please answer %s or %s.", strings.Join(letters[:last], ", "), letters[last])
	}
}

// read reads a line, or returns when ctx ends. A read that is still blocked then serves
// the next call.
func (t *terminal) read(ctx context.Context) (string, error) {
	if t.pending == nil {
		t.pending = make(chan string, 1)
		go func(to chan<- string) { // ends with the line, or the process
			defer close(to)
			if line, err := t.lines.ReadString('\n'); err == nil {
				to <- strings.TrimSpace(line)
			}
		}(t.pending)
	}
	select {
	case line, ok := <-t.pending:
		t.pending = nil
		if !ok {
			return "", errEnd
		}
		return line, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// awaitSkip reads lines until one skips, and returns steps.ErrSkipped, errEnd or ctx's error.
func (t *terminal) awaitSkip(ctx context.Context) error {
	for {
		if line, err := t.read(ctx); err != nil {
			return err
		} else if line == "s" {
			return steps.ErrSkipped
		}
	}
}

// print prints a text as it is.
func (t *terminal) print(text string) { _, _ = io.WriteString(t.out, text) }

func (t *terminal) say(format string, args ...any) { _, _ = fmt.Fprintf(t.out, format+"\n", args...) }

// tell prints a text wrapped for the terminal.
func (t *terminal) tell(format string, args ...any) {
	t.say("%s", term.WrapIndented(t.out, "", fmt.Sprintf(format, args...)))
}

// note prints an indented text that belongs to a step.
func (t *terminal) note(format string, args ...any) {
	t.say("%s", term.WrapIndented(t.out, steps.Indent, fmt.Sprintf(format, args...)))
}

func (t *terminal) advise(next string) {
	if next != "" {
		t.note(term.ActionPrefix+"%s", term.SafeLine(next))
	}
}

func (t *terminal) noteAll(did []string) {
	for _, line := range did {
		t.note("%s", term.SafeLine(line))
	}
}

// hideTyping stops a terminal from showing typed characters. Lines and Ctrl-C work as
// before.
func hideTyping(fd int) error {
	state, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return err
	}
	state.Lflag &^= unix.ECHO
	return unix.IoctlSetTermios(fd, setTermios, state)
}
