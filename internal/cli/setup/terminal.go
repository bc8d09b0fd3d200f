package setup

import (
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

	"bareclaw/internal/term"
)

// errSkip is the answer that skips a step.
var errSkip = errors.New("skipped")

// errEnd means that the terminal has ended, by Ctrl-D or a hang-up.
var errEnd = errors.New("the input has ended")

// A terminal asks questions, a line each, without colours and cursor movements: questions
// must work over any connection and with screen readers.
type terminal struct {
	in      *os.File
	out     io.Writer
	before  *xterm.State  // initial state; nil if unknown
	pending chan readLine // result of an unfinished read
}

type readLine struct {
	text string
	err  error
}

func newTerminal(in *os.File, out io.Writer) *terminal {
	before, _ := xterm.GetState(int(in.Fd())) // nil without a terminal
	return &terminal{in: in, out: out, before: before}
}

// restore resets the terminal, for example after an interrupted question for a secret.
func (t *terminal) restore() {
	if t.before != nil {
		_ = xterm.Restore(int(t.in.Fd()), t.before)
	}
}

// A question has a text and a meaning for the empty answer.
type question struct {
	text   string
	help   string // the answer to "?"
	has    string // meaning of an empty line, in words; empty: none
	secret bool   // typed characters stay hidden
}

// ask repeats a question until there is an answer. An empty answer means the value in
// brackets. The error is errSkip, errEnd or ctx's error.
func (t *terminal) ask(ctx context.Context, q question) (string, error) {
	for {
		hint := ""
		if q.has != "" {
			hint = " [" + term.SafeLine(q.has) + "]"
		}
		hidden := q.secret && hideTyping(int(t.in.Fd())) == nil // before the question, to show no character
		_, _ = fmt.Fprint(t.out, term.WrapIndented(t.out, stepIndent, q.text+hint+":")+" ")
		line, err := t.read(ctx)
		if hidden {
			t.restore()
			_, _ = fmt.Fprintln(t.out) // the typed line end was hidden
		}
		if err != nil {
			_, _ = fmt.Fprintln(t.out)
			return "", err
		}
		switch line = strings.TrimSpace(line); line {
		case "?":
			_, _ = fmt.Fprintln(t.out, term.WrapIndented(t.out, stepIndent, q.help+"\nEnter takes what is in brackets, s skips this step, Ctrl-C ends."))
		case "s":
			return "", errSkip
		default:
			return line, nil
		}
	}
}

// confirm asks a question of yes or no, where an empty line is yes.
func (t *terminal) confirm(ctx context.Context, text, help string) (bool, error) {
	letter, err := t.choose(ctx, question{text: text, help: help, has: "Y/n"})
	return letter == "y", err
}

// choose asks a question whose answers are the letters in brackets, or the words that begin
// with them. An empty line is the capital letter.
func (t *terminal) choose(ctx context.Context, q question) (letter string, err error) {
	letters := strings.Split(strings.ToLower(q.has), "/")
	for {
		line, err := t.ask(ctx, q)
		if err != nil {
			return "", err
		}
		line = strings.ToLower(cmp.Or(line, strings.Trim(q.has, "/nry")))
		if first := line[:1]; slices.Contains(letters, first) && slices.Contains([]string{first, "yes", "no", "revive"}, line) {
			return first, nil
		}
		last := len(letters) - 1
		_, _ = fmt.Fprintf(t.out, stepIndent+"Please answer %s or %s.\n", strings.Join(letters[:last], ", "), letters[last])
	}
}

// agree is confirm for a question where skipping means no.
func (t *terminal) agree(ctx context.Context, text, help string) (bool, error) {
	yes, err := t.confirm(ctx, text, help)
	if errors.Is(err, errSkip) {
		return false, nil
	}
	return yes, err
}

// read reads a line, or returns when ctx ends. A read that is still blocked then serves
// the next call.
func (t *terminal) read(ctx context.Context) (string, error) {
	select {
	case line := <-t.lines():
		t.pending = nil
		if line.err != nil {
			return "", errEnd
		}
		return line.text, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// awaitSkip reads lines until one skips, and returns errSkip, errEnd or ctx's error.
func (t *terminal) awaitSkip(ctx context.Context) error {
	for {
		line, err := t.read(ctx)
		if err != nil {
			return err
		}
		if strings.TrimSpace(line) == "s" {
			return errSkip
		}
	}
}

// lines returns where the next line comes.
func (t *terminal) lines() <-chan readLine {
	if t.pending == nil {
		t.pending = make(chan readLine, 1)
		go func(to chan<- readLine) { // ends with the line, or the process
			text, err := readTo(t.in)
			to <- readLine{text, err}
		}(t.pending)
	}
	return t.pending
}

// readTo reads one line and not a byte more.
func readTo(in io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := in.Read(b)
		switch {
		case n > 0 && b[0] == '\n':
			return string(line), nil
		case n > 0:
			line = append(line, b[0])
		case err != nil:
			return "", fmt.Errorf("read the answer: %w", err)
		}
	}
}

// A console writes for a person and asks questions.
type console struct {
	out      io.Writer
	terminal *terminal // nil: nothing is asked
}

func (c *console) say(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format+"\n", args...) }

// tell prints a text wrapped for the terminal.
func (c *console) tell(format string, args ...any) {
	c.say("%s", term.WrapIndented(c.out, "", fmt.Sprintf(format, args...)))
}

// note prints an indented text that belongs to a step.
func (c *console) note(format string, args ...any) {
	c.say("%s", term.WrapIndented(c.out, stepIndent, fmt.Sprintf(format, args...)))
}

// stepIndent indents the output of a step.
const stepIndent = "    "

// arrow begins an advice.
const arrow = term.ActionPrefix

// noteAll prints lines that belong to a step.
func (c *console) noteAll(did []string) {
	for _, line := range did {
		c.note("%s", term.SafeLine(line))
	}
}

// show prints the outcome of a step with a word for its state.
func (c *console) show(o Outcome) {
	word := map[string]string{Done: "Done", Unchanged: "Fine", Skipped: "Skipped", Failed: "FAILED"}[o.State]
	c.note("%s: %s", word, term.SafeLine(o.Detail))
	if o.Next != "" {
		c.note(arrow+"%s", term.SafeLine(o.Next))
	}
}

// hideTyping stops a terminal from showing typed characters. Lines and Ctrl-C work as
// before.
func hideTyping(fd int) error {
	state, err := unix.IoctlGetTermios(fd, getTermios)
	if err == nil {
		state.Lflag &^= unix.ECHO
		err = unix.IoctlSetTermios(fd, setTermios, state)
	}
	if err != nil {
		return fmt.Errorf("hide what is typed: %w", err)
	}
	return nil
}
