package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

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
	for {
		line, err := t.ask(ctx, question{text: text, help: help, has: "Y/n"})
		if err != nil {
			return false, err
		}
		switch strings.ToLower(line) {
		case "", "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
		_, _ = fmt.Fprintln(t.out, "    Please answer y or n.")
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
