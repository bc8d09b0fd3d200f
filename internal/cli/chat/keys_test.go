package chat

import (
	"testing"
	"time"

	"bareclaw/core"

	tea "charm.land/bubbletea/v2"

	"bareclaw/internal/term"
)

// TestTypingWhenAsked: what is being typed when a question appears does not answer it. With
// Enter, or a moment later, the same key does.
func TestTypingWhenAsked(t *testing.T) {
	t.Parallel()
	m := newModel(t.Context(), &gateway{}, arrival{}, term.DefaultColumns)
	m.input.Focus()
	m.talk.asked(core.Approval{ID: "a1", State: core.ApprovalPending, Tool: "Bash", Input: []byte(`{"command":"ls"}`)})
	key := tea.KeyPressMsg{Code: 'a', Text: "a"}
	m.key(key)
	if got := m.input.Value(); got != "a" {
		t.Errorf("the prompt has %q: it was an answer at once", got)
	}
	m.enter()
	if got := m.input.Value(); got != "" || len(m.talk.asks) != 1 {
		t.Errorf("the prompt has %q after Enter", got)
	}
	m.talk.askedAt = time.Now().Add(-2 * startle)
	m.key(key)
	if got := m.input.Value(); got != "" {
		t.Errorf("the prompt has %q: it is no answer any more", got)
	}
	if f := m.talk.asks[0]; !f.isKey("y") || f.isKey("yes") || f.isKey("c") {
		t.Error("other texts answer it")
	}
}
