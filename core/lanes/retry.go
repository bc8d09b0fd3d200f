package lanes

import (
	"fmt"
	"strings"
	"time"

	"bareclaw/core"

	"github.com/google/uuid"
)

// continueFor is how long the question whether to continue an interrupted turn stays open.
// No turn waits for the answer, and an unanswered question expires.
const continueFor = 24 * time.Hour

// askToContinue returns the question whether to continue a turn interrupted at work, or nil
// if the turn needs no question. The question's id depends only on the turn.
func (l *lane) askToContinue(f *inflight, r core.Reply) *core.Approval {
	cut := r.State == core.Failed && (r.Code == core.CodeInterrupted || r.Code == core.CodeStalled || r.Code == core.CodeTimeout)
	if !cut || !core.MayHaveActed(&r, f.turn) {
		return nil
	}
	now := l.now()
	return &core.Approval{
		ID: uuid.NewSHA1(uuid.NameSpaceOID, []byte("continue "+f.turn.ID)).String(), Kind: core.ApprovalContinue,
		Channel: l.key, Message: f.carrier().ID, Prompt: core.ApprovalPrompt(f.carrier()), Turn: f.turn.ID,
		CreatedAt: now, ExpiresAt: now.Add(continueFor), State: core.ApprovalPending,
	}
}

// toolsSeen lists the tools seen in the turn's events, limited to the last five.
func (f *inflight) toolsSeen() string {
	const show = 5
	var seen []string
	for _, m := range f.turn.Marks {
		if m.What == core.MarkTool {
			seen = append(seen, m.Detail)
		}
	}
	if over := len(seen) - show; over > 0 {
		seen = append([]string{fmt.Sprintf("%d other tool calls", over)}, seen[over:]...)
	}
	return strings.Join(seen, "; ")
}
