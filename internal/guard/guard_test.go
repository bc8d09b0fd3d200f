package guard

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestDo(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(&b, nil))
	own := errors.New("own")
	if err := Do(log, "working", func() error { return own }); !errors.Is(err, own) || b.Len() > 0 {
		t.Errorf("got %v, and the log %s", err, &b)
	}
	err := Do(log, "working", func() error { panic("bang") }, "file", "a.ts")
	if !errors.Is(err, ErrPanic) || err.Error() != "internal error while working" {
		t.Errorf("a panic is %v", err)
	}
	for _, want := range []string{"level=ERROR", "while=working", "panic=bang", "guard_test.go", "file=a.ts"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, &b)
		}
	}
}
