package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bareclaw/core"
)

// A turn is the known state of a turn.
type turn struct {
	id      core.TurnID
	dir     string
	members []core.MessageID
	since   time.Time
	heard   time.Time
	stalled bool
	end     *end // nil while the turn runs

	known      recent // texts, streamed or whole, and calls: repetitions change nothing
	text       *text  // the newest text, until known to be said
	calls      []*call
	tools      int
	lines      []*Line
	thinking   bool
	compacting bool
	retry      string
}

// A text is a streamed block, or a whole block without a successor.
type text struct {
	stream string // identifies a streamed block
	id     string // set once the block is whole
	words  strings.Builder
}

func (t *text) whole() bool { return t.id != "" }

// join adds messages to the turn.
func (t *turn) join(ids []core.MessageID) {
	for _, id := range ids {
		if !slices.Contains(t.members, id) {
			t.members = append(t.members, id)
		}
	}
}

// away reports whether the reply to a message of the turn is carried by a message outside of
// the turn: no further outcome will end the turn.
func (t *turn) away(m *core.Message) bool {
	return len(t.members) > 0 && !slices.Contains(t.members, m.Reply.Into)
}

// take processes a display event of the turn.
func (t *turn) take(at time.Time, s core.DisplayEvent) News {
	switch s.Kind {
	case core.DisplayTool:
		return News{Said: t.called(at, s)}
	case core.DisplayToolEnd:
		return t.callEnded(at, s)
	default:
	}
	if s.Parent != "" {
		return News{} // words of a sub-agent
	}
	switch s.Kind {
	case core.DisplayTextBegin:
		return News{Said: t.textBegun(s)}
	case core.DisplayTextDelta:
		if t.text != nil && !t.text.whole() && t.text.stream == streamOf(s) {
			t.text.words.WriteString(s.Text)
		}
	case core.DisplayText:
		return News{Said: t.textWhole(s)}
	case core.DisplayThinking:
		t.goesOn()
		t.thinking = true
	case core.DisplayCompacting:
		t.compacting = true
	case core.DisplayCompacted:
		t.compacting = false
	case core.DisplayRetry:
		t.retry = s.Text
	default:
	}
	return News{}
}

// goesOn records that the model is answering.
func (t *turn) goesOn() { t.thinking, t.compacting, t.retry = false, false, "" }

// streamOf identifies the block of a text piece; "" if the message is unnamed.
func streamOf(s core.DisplayEvent) string {
	if s.Message == "" {
		return ""
	}
	return fmt.Sprintf("%s/%d", s.Message, s.Index)
}

func (t *turn) textBegun(s core.DisplayEvent) []Said {
	stream := streamOf(s)
	if t.known.has(stream) {
		return nil
	}
	said := t.followed()
	t.goesOn()
	t.text = &text{stream: stream}
	return said
}

// textWhole processes a complete block, and replaces the streamed block. A streamed block of
// another message is dropped: the agent began the message anew.
func (t *turn) textWhole(s core.DisplayEvent) []Said {
	if !t.known.add(s.ID) {
		return nil
	}
	t.goesOn()
	var said []Said
	whole := &text{id: s.ID}
	if t.text != nil && !t.text.whole() {
		whole.stream = t.text.stream
		if whole.stream != "" {
			t.known.add(whole.stream)
		}
	} else {
		said = t.followed()
	}
	whole.words.WriteString(s.Text)
	t.text = whole
	return said
}

// followed returns the pending text as said, because other content follows. A text that is
// not yet whole never will be, and is dropped.
func (t *turn) followed() []Said {
	text := t.text
	t.text = nil
	if text == nil || !text.whole() || strings.TrimSpace(text.words.String()) == "" {
		return nil
	}
	return []Said{{ID: text.id, Turn: t.id, Text: text.words.String(), Stream: text.stream}}
}

// loseStream drops a partly streamed text after a piece was lost.
func (t *turn) loseStream() {
	if t.text != nil && !t.text.whole() {
		t.text = nil
	}
}

// finish ends the turn. The pending text is said unless the reply contains the text.
func (t *turn) finish(at time.Time, r core.Reply) News {
	took := r.Duration
	if took <= 0 {
		took = max(0, at.Sub(t.since))
	}
	t.end = &end{state: r.State, took: took, cost: r.CostUSD}
	t.calls = nil
	said := t.followed()
	if r.Coalesced || len(said) > 0 && strings.Contains(r.Text, strings.TrimSpace(said[0].Text)) {
		said = nil
	}
	t.goesOn()
	return News{Said: said}
}
