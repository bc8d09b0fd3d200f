package cli

import (
	"strings"
	"testing"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/internal/term"
)

// TestAnswersFitATerminal: at 80 columns a list of messages shows ids that find them, and answers.
func TestAnswersFitATerminal(t *testing.T) {
	t.Parallel()
	now := time.Now()
	all := []api.Message{
		{Accepted: api.Accepted{ID: "019a1234-aaaa-7bbb-8ccc-123456789abc", State: api.Answered, Prompt: api.Prompt{Text: "What does this directory hold, and why is it so large?"}, ReceivedAt: now.Add(-3 * time.Hour)},
			Text: "It holds the build of yesterday, which nobody has cleaned."},
		{Accepted: api.Accepted{ID: "019a1234-aaaa-7bbb-8ccc-00000000ffff", State: api.Waiting, Prompt: api.Prompt{Text: "And now?"}, ReceivedAt: now}},
	}
	lines := messageTable(all, now).Lines(term.Palette{}, 80)
	for i, want := range []string{"ID        STATE", "56789abc  answered", "0000ffff  waiting"} {
		if !strings.HasPrefix(lines[i], want) || len([]rune(lines[i])) > 80 {
			t.Errorf("line %d is %q, want %q", i, lines[i], want)
		}
	}
	if !strings.Contains(lines[1], "It holds the build of") || !strings.Contains(lines[0], "ANSWER") {
		t.Errorf("the answer is not shown:\n%s", strings.Join(lines, "\n"))
	}
}
