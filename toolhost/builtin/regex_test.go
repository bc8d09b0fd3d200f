package builtin

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestCancelledMatch holds that a match ends with its call, also inside of a pattern that would
// go on for long.
func TestCancelledMatch(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	withdrawn := errors.New("withdrawn")
	time.AfterFunc(50*time.Millisecond, func() { cancel(withdrawn) })
	_, err := testRegex(ctx, regexArgs{Pattern: "^(?=a)(a+)+$", Text: strings.Repeat("a", 60) + "b"})
	if !errors.Is(err, withdrawn) {
		t.Error(err)
	}
}

func TestGreedyMatch(t *testing.T) {
	t.Parallel()
	_, err := testRegex(t.Context(), regexArgs{Pattern: "a", Text: strings.Repeat("😀", regexMemory/4)})
	if err == nil || !strings.Contains(err.Error(), "needs more than 32 MiB of memory") {
		t.Error(err)
	}
	// A machine of its own: the next match does not suffer.
	got, err := testRegex(t.Context(), regexArgs{Pattern: "a", Text: "a"})
	if err != nil || !got.HasMatch {
		t.Errorf("afterwards: %+v, %v", got, err)
	}
}
