package botapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Call is one request of the bot.
type Call struct {
	Time   time.Time         // when it arrived, by the server's clock
	Method string            // as the API spells it; "file" is a download
	Params map[string]string // text as it is, nested values as JSON
	Chat   int64             // chat_id; 0 is none

	// Outcome is "" while the call is carried out, then "ok", the error
	// ("400 Bad Request: …"), or the fault that came over it.
	Outcome string
	// Message is the id of the message that was sent; 0 is none.
	Message int
}

// Calls returns the calls of the methods, or of all, in the order of arrival.
func (s *Server) Calls(methods ...string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, c := range s.calls {
		if len(methods) == 0 || slices.Contains(methods, c.Method) {
			copied := *c
			copied.Params = maps.Clone(c.Params)
			out = append(out, copied)
		}
	}
	return out
}

const (
	dumpedCalls = 40
	dumpedText  = 200
)

// Dump is what everybody sees, and the last calls, for a person to read.
func (s *Server) Dump() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(s.chats)) {
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
func (c Call) String() string {
	outcome := c.Outcome
	if outcome == "" {
		outcome = "under way"
	}
	return fmt.Sprintf("%s chat %d %s → %s", c.Method, c.Chat, short(c.Params["text"]), outcome)
}

// short quotes the beginning of a text.
func short(text string) string {
	if runes := []rune(text); len(runes) > dumpedText {
		text = string(runes[:dumpedText]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
