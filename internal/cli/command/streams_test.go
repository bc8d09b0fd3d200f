package command

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"bareclaw/internal/exitcode"
)

func TestTextOfStandardInput(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ arg, in, want string }{
		{"-", "two\nlines\r\n\n", "two\nlines"},
		{"-", "", ""},
		{"- and more", "unread", "- and more"},
	} {
		c := &Context{Context: t.Context(), In: strings.NewReader(row.in)}
		if got, err := MessageText(c, row.arg); err != nil || got != row.want {
			t.Errorf("%q of %q is %q, %v; want %q", row.arg, row.in, got, err, row.want)
		}
	}
}

// TestNoText: what is no text is refused, and not sent with other characters in it.
func TestNoText(t *testing.T) {
	t.Parallel()
	c := &Context{Context: t.Context(), In: strings.NewReader("caf\xe9")}
	if got, err := MessageText(c, "-"); !errors.Is(err, errNoText) {
		t.Errorf("it is %q, %v", got, err)
	}
}

// TestInterruptedWhileReading: Ctrl-C ends a command that waits for somebody to type.
func TestInterruptedWhileReading(t *testing.T) {
	t.Parallel()
	silent, typist := io.Pipe()
	t.Cleanup(func() { _ = typist.Close() })
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	_, err := MessageText(&Context{Context: ctx, In: silent}, "-")
	if ExitStatus(err) != exitcode.Interrupted {
		t.Errorf("got %v, want one that means an interruption", err)
	}
}
