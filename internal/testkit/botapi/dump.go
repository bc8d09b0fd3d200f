package botapi

import (
	"fmt"
	"strings"
)

const (
	dumpedCalls = 40
	dumpedText  = 200
)

// Dump is what everybody sees, and the last calls, for a person to read.
func (s *Server) Dump() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, id := range s.chatIDsLocked() {
		c := s.chats[id]
		fmt.Fprintf(&b, "%s chat %d %s\n", c.kind, id, c.title)
		for _, m := range c.viewLocked() {
			fmt.Fprintf(&b, "  %s\n", m)
		}
	}
	fmt.Fprintf(&b, "%d updates are not acknowledged\n", len(s.updates.waiting))
	first := max(0, len(s.calls)-dumpedCalls)
	if first > 0 {
		fmt.Fprintf(&b, "(%d earlier calls)\n", first)
	}
	for _, c := range s.calls[first:] {
		fmt.Fprintf(&b, "%s %s\n", c.Time.Format("15:04:05.000"), c)
	}
	for _, v := range s.broken {
		fmt.Fprintf(&b, "violation: %s\n", v)
	}
	return b.String()
}

// String is one line.
func (m Message) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d %s", m.ID, m.From)
	if m.Thread != 0 {
		fmt.Fprintf(&b, " in topic %d", m.Thread)
	}
	if m.Edits > 0 {
		fmt.Fprintf(&b, " (edited %d times)", m.Edits)
	}
	if m.Media != nil {
		fmt.Fprintf(&b, " [%s %s %d bytes]", m.Media.Kind, m.Media.Name, len(m.Media.Data))
	}
	fmt.Fprintf(&b, ": %s%s", short(m.Text), m.Service)
	for _, row := range m.Buttons {
		for _, button := range row {
			fmt.Fprintf(&b, " [%s]", button.Text)
		}
	}
	return b.String()
}

// String is one line.
func (c Call) String() string {
	outcome := c.Outcome
	if outcome == "" {
		outcome = "under way"
	}
	return fmt.Sprintf("%s chat %d thread %d %s → %s", c.Method, c.Chat, c.Thread, short(c.Params["text"]), outcome)
}

// short quotes the beginning of a text.
func short(text string) string {
	if runes := []rune(text); len(runes) > dumpedText {
		text = string(runes[:dumpedText]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
