package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"
)

// A turn is the known state of a turn. The View has the fields that need no computation.
type turn struct {
	View

	news    *News // of the update being taken
	dir     string
	members []core.MessageID
	known   set     // texts, streamed or whole, and calls: repetitions change nothing
	text    *text   // the newest text, until known to be said
	calls   []*call // open calls
	lines   []*call // newest calls
}

// A text is a streamed block, or a whole block without a successor.
type text struct {
	stream string // identifies a streamed block
	id     string // set once the block is whole
	words  strings.Builder
}

func (t *text) whole() bool { return t.id != "" }

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

func (t *turn) take(at time.Time, s core.DisplayEvent) {
	if s.Parent != "" && s.Kind != core.DisplayTool && s.Kind != core.DisplayToolEnd {
		return // words of a sub-agent
	}
	switch s.Kind {
	case core.DisplayTool:
		t.called(at, s)
	case core.DisplayToolEnd:
		t.callEnded(at, s)
	case core.DisplayTextBegin:
		t.textBegun(s)
	case core.DisplayTextDelta:
		if t.text != nil && !t.text.whole() && t.text.stream == streamOf(s) {
			t.text.words.WriteString(s.Text)
		}
	case core.DisplayText:
		t.textWhole(s)
	case core.DisplayThinking:
		t.goesOn()
		t.Thinking = true
	case core.DisplayCompacting:
		t.Compacting = true
	case core.DisplayCompacted:
		t.Compacting = false
	case core.DisplayRetry:
		t.Retrying = s.Text
	case core.DisplayTasks: // counted by the Fold
	}
}

// goesOn records that the model is answering.
func (t *turn) goesOn() { t.Thinking, t.Compacting, t.Retrying = false, false, "" }

// streamOf identifies the block of a text piece; "" if the message is unnamed.
func streamOf(s core.DisplayEvent) string {
	if s.Message == "" {
		return ""
	}
	return fmt.Sprintf("%s/%d", s.Message, s.Index)
}

func (t *turn) textBegun(s core.DisplayEvent) {
	stream := streamOf(s)
	if t.known[stream] {
		return
	}
	t.followed()
	t.goesOn()
	t.text = &text{stream: stream}
}

// textWhole processes a complete block, and replaces the streamed block. A streamed block of
// another message is dropped: the agent began the message anew.
func (t *turn) textWhole(s core.DisplayEvent) {
	if !t.known.add(s.ID) {
		return
	}
	t.goesOn()
	whole := &text{id: s.ID}
	if t.text != nil && !t.text.whole() {
		whole.stream = t.text.stream
		if whole.stream != "" {
			t.known.add(whole.stream)
		}
	} else {
		t.followed()
	}
	whole.words.WriteString(s.Text)
	t.text = whole
}

// followed reports the pending text as said, because other content follows. A text that is
// not yet whole never will be, and is dropped.
func (t *turn) followed() {
	text := t.text
	t.text = nil
	if text != nil && text.whole() && strings.TrimSpace(text.words.String()) != "" {
		t.news.Said = append(t.news.Said, Said{ID: text.id, Turn: t.Turn, Text: text.words.String(), Stream: text.stream})
	}
}

// loseStream drops a partly streamed text after a piece was lost.
func (t *turn) loseStream() {
	if t.text != nil && !t.text.whole() {
		t.text = nil
	}
}

// finish ends the turn. The pending text is said unless the reply contains the text.
func (t *turn) finish(at time.Time, r core.Reply) {
	if r.Coalesced || t.text != nil && strings.Contains(r.Text, strings.TrimSpace(t.text.words.String())) {
		t.text = nil
	}
	t.followed()
	took := r.Duration
	if took <= 0 {
		took = max(0, at.Sub(t.Since))
	}
	t.calls = nil
	t.View = View{Turn: t.Turn, Phase: Ended, Since: t.Since, Tools: t.Tools, Summary: summary(r, took, t.Tools)}
}

// briefly bounds the duration of a turn without tools that needs no summary.
const briefly = 10 * time.Second

// summary describes the end of a turn in a line. The summary is empty for a short turn
// without tools, whose reply says everything; a stop is always reported.
func summary(r core.Reply, took time.Duration, tools int) string {
	if r.State != core.Cancelled && tools == 0 && took < briefly {
		return ""
	}
	how := "Done in "
	switch r.State {
	case core.Cancelled:
		how = "Stopped after "
	case core.Failed:
		how = "Failed after "
	default:
	}
	cost := ""
	if r.CostUSD > 0 {
		cost = humanize.USD(r.CostUSD)
	}
	return joined(how+clock(took), counted(tools, "tool"), cost)
}
