package chat

import (
	"testing"
)

// TestLive has rows go only when it was seen for a while that they are not needed.
func TestLive(t *testing.T) {
	t.Parallel()
	var l live
	want := func(rows int, content string) {
		t.Helper()
		if got := l.fill("x"); l.rows != rows || got != content {
			t.Errorf("%d rows, want %d: %q", l.rows, rows, got)
		}
	}
	if l.fit(3) != nil {
		t.Error("it grows later")
	}
	want(3, "x")
	later := l.fit(1)
	want(3, "x\n\n")
	if l.fit(1) != nil {
		t.Error("it shrinks twice")
	}
	l.fit(2) // before it was drawn
	l.shrink(later().(shrink))
	want(3, "x\n")
	again := l.fit(1)
	l.shrink(again().(shrink))
	want(1, "x")
}
