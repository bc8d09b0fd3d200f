package chat

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/internal/term"
	"bareclaw/sessionhost/claude"
)

// A look is the style of a line.
type look int

// The looks.
const (
	asClaude look = iota
	asUser
	asTool
	asFailedTool
	asQuestion
	asNote
	asProblem
)

// A line is a text for the scrollback. It may take several rows of the terminal.
type line struct {
	look look
	text string
}

// A call is a running tool call of claude.
type call struct {
	id, tool, target string
	sub              bool // a sub-agent's call
}

// describe returns the call in one line.
func (c call) describe() string {
	s := strings.TrimSpace(term.SafeLine(c.tool + " " + c.target))
	if c.sub {
		return "  " + s
	}
	return s
}

// A talk is the state of the conversation. A talk takes the events of the channel and
// returns the lines for the scrollback. A talk is not safe for concurrent use.
type talk struct {
	turn     string   // id of the running turn; empty without a turn
	members  []string // messages of the turn
	since    time.Time
	open     map[string]api.Queued // own messages without an outcome, by id
	ended    []string              // turns and messages with a shown outcome, newest last
	block    string                // id of the streamed block of text
	text     strings.Builder       // streamed part of the block
	last     string                // the last whole text of the turn
	told     string                // text shown as an outcome before the text's own event
	heard    string                // id of the last whole block of text
	calls    []call                // running calls
	thinking bool
	doing    string    // reason for the agent's silence
	asks     []*form   // approvals waiting for an answer, oldest first
	askedAt  time.Time // when the first approval was shown
	decided  []string  // closed approvals, newest last
	lost     bool      // the gateway is away
}

func newTalk() *talk { return &talk{open: map[string]api.Queued{}} }

// busy reports whether a turn runs or a message waits; Ctrl-C can stop both.
func (t *talk) busy() bool { return t.turn != "" || len(t.open) > 0 }

// take processes an event of the channel, received at the time at.
func (t *talk) take(at time.Time, v any) []line {
	switch v := v.(type) {
	case away, leaving:
		t.lost = true
	case back:
		t.lost = false
	case api.Queued:
		if _, mine := t.open[v.ID]; mine {
			t.open[v.ID] = v
		}
	case api.Started:
		t.begin(v, at)
	case shown:
		return t.shows(v)
	case approvalOpened:
		return t.asked(api.Approval(v))
	case approvalClosed:
		return t.closed(api.Approval(v))
	case api.Background:
		return []line{t.said(v.Text, v.IsError)}
	case api.Notice:
		if v.Code == api.NoticeGap { // replaces a text that names an HTTP route; the chat looks up the outcomes
			v.Text = "Some of what was said may be missing here, or come a second time: the gateway ended without notice."
		}
		return []line{{asNote, v.Text}}
	case api.Message:
		return t.outcome(&v)
	}
	return nil
}

// sent records a message of the chat. The reply accepting the message may arrive after the
// events of the message's turn.
func (t *talk) sent(m *api.Accepted) {
	if slices.Contains(t.ended, m.ID) || t.turn != "" && slices.Contains(t.members, m.ID) {
		return
	}
	t.open[m.ID] = api.Queued{ID: m.ID, Position: m.Position, Why: m.Why}
}

func (t *talk) begin(v api.Started, at time.Time) {
	if slices.Contains(t.ended, v.TurnID) {
		return // the event is late: the outcome was already looked up
	}
	if t.turn != v.TurnID {
		t.turn, t.members, t.since, t.last = v.TurnID, v.Messages, at, ""
		t.clear()
	}
	for _, id := range v.Messages {
		delete(t.open, id)
	}
}

// unknown returns the messages without a known outcome.
func (t *talk) unknown() []string {
	ids := slices.Collect(maps.Keys(t.open))
	if t.turn != "" {
		ids = append(ids, t.members...)
	}
	return ids
}

// found processes the channel's state after events may have been missed.
func (t *talk) found(f found) (lines []line) {
	for i := range f.over {
		lines = append(lines, t.outcome(&f.over[i])...)
	}
	if f.state != "running" && t.turn != "" {
		t.turn = ""
		t.clear()
	}
	return lines
}

// clear forgets the running calls and the streamed text of a turn.
func (t *talk) clear() {
	t.calls, t.thinking, t.doing = nil, false, ""
	t.drop()
}

// drop forgets the streamed text.
func (t *talk) drop() {
	t.block = ""
	t.text.Reset()
}

// shows processes a line of claude's output.
func (t *talk) shows(all shown) (lines []line) {
	for i := range all {
		lines = append(lines, t.show(&all[i])...)
	}
	return lines
}

func (t *talk) show(s *core.DisplayEvent) []line {
	block := fmt.Sprintf("%s/%d", s.Message, s.Index)
	switch s.Kind {
	case core.DisplayTextBegin, core.DisplayTextDelta:
		if s.Parent != "" {
			break
		}
		if t.block != block {
			t.drop()
			t.block = block
		}
		t.thinking, t.doing = false, ""
		t.text.WriteString(s.Text)
	case core.DisplayText:
		if s.Parent != "" || strings.TrimSpace(s.Text) == "" {
			break
		}
		t.drop()
		t.thinking, t.doing = false, ""
		if strings.TrimSpace(s.Text) == t.told {
			t.told, t.heard = "", block
			return nil // the text was already printed as an outcome
		}
		if s.Message != "" && block == t.heard {
			return nil // a repeated event
		}
		t.heard, t.last = block, s.Text
		return []line{t.said(s.Text, false)}
	case core.DisplayThinking:
		t.thinking = s.Parent == ""
	case core.DisplayTool:
		t.calling(s)
	case core.DisplayToolEnd:
		return t.called(s)
	case core.DisplayCompacting:
		t.doing = "shortening the conversation"
	case core.DisplayCompacted:
		t.doing = ""
	case core.DisplayRetry:
		t.doing = s.Text
	case core.DisplayTasks:
	}
	return nil
}

// calling records a call. A call is reported twice: when announced, and with the target.
func (t *talk) calling(s *core.DisplayEvent) {
	t.thinking, t.doing = false, ""
	c := call{id: s.ID, tool: s.Tool, target: s.Target, sub: s.Parent != ""}
	for i := range t.calls {
		if t.calls[i].id == s.ID {
			t.calls[i] = c
			return
		}
	}
	t.calls = append(t.calls, c)
}

func (t *talk) called(s *core.DisplayEvent) []line {
	for i, c := range t.calls {
		if c.id == s.ID {
			t.calls = slices.Delete(t.calls, i, i+1)
			if s.IsError {
				return []line{{asFailedTool, c.describe()}}
			}
			return []line{{asTool, c.describe()}}
		}
	}
	return nil // the call began before this chat
}

func (t *talk) asked(a api.Approval) []line {
	known := slices.ContainsFunc(t.asks, func(f *form) bool { return f.approval.ID == a.ID })
	if known || slices.Contains(t.decided, a.ID) { // the list of pending approvals may be older than the events
		return nil
	}
	t.asks = append(t.asks, newForm(a))
	if len(t.asks) > 1 {
		return nil // the approval is shown after the earlier ones are answered
	}
	return t.ask()
}

// ask shows the next approval.
func (t *talk) ask() []line {
	if len(t.asks) == 0 {
		return nil
	}
	t.askedAt = time.Now()
	return []line{{asQuestion, t.asks[0].show()}}
}

// again shows an approval again after its answer was refused.
func (t *talk) again(id string) []line {
	if len(t.asks) == 0 || t.asks[0].approval.ID != id {
		return nil
	}
	t.asks[0].at = 0
	return t.ask()
}

func (t *talk) closed(a api.Approval) []line {
	t.decided = keep(t.decided, a.ID)
	return t.remove(a)
}

// askedOf compares the shown approvals with the pending ones after events may have been
// missed.
func (t *talk) askedOf(a asked) (lines []line) {
	pending := func(id string) bool {
		return slices.ContainsFunc(a.pending, func(p api.Approval) bool { return p.ID == id })
	}
	for _, f := range slices.Clone(t.asks) {
		if a.sure && slices.Contains(a.known, f.approval.ID) && !pending(f.approval.ID) {
			gone := f.approval
			gone.State = "waits no longer"
			lines = append(lines, t.remove(gone)...)
		}
	}
	for _, p := range a.pending {
		lines = append(lines, t.asked(p)...)
	}
	return append(lines, t.again(a.again)...)
}

// asking returns the ids of the pending approvals.
func (t *talk) asking() (ids []string) {
	for _, f := range t.asks {
		ids = append(ids, f.approval.ID)
	}
	return ids
}

// remove removes an approval that is no longer pending.
func (t *talk) remove(a api.Approval) []line {
	i := slices.IndexFunc(t.asks, func(f *form) bool { return f.approval.ID == a.ID })
	if i < 0 {
		return nil
	}
	t.asks = slices.Delete(t.asks, i, i+1)
	what := call{tool: a.Tool, target: claude.ToolTarget(a.Input)}.describe()
	if a.Kind == "continue" {
		what = "The turn that was cut"
	}
	lines := []line{{asNote, what + ": " + a.State}}
	if i == 0 {
		lines = append(lines, t.ask()...)
	}
	return lines
}

// kept is the number of remembered turns and messages with an outcome. A turn usually has
// fewer messages, with outcomes in quick succession.
const kept = 256

// keep appends ids and drops the oldest beyond kept.
func keep(known []string, more ...string) []string {
	known = append(known, more...)
	return known[max(0, len(known)-kept):]
}

// outcome processes the outcome of a message. All messages of a turn share an outcome.
func (t *talk) outcome(m *api.Message) (lines []line) {
	delete(t.open, m.ID)
	key := m.ID
	if m.TurnID != "" {
		key = m.TurnID
	}
	if m.TurnID != "" && m.TurnID == t.turn {
		t.turn = ""
		t.clear()
	}
	if m.Coalesced || slices.Contains(t.ended, key) {
		t.ended = keep(t.ended, m.ID)
		return nil
	}
	t.ended = keep(t.ended, key, m.ID)
	if text := strings.TrimSpace(m.Text); text != "" && (m.IsError || text != strings.TrimSpace(t.last)) {
		t.told = text
		lines = append(lines, t.said(m.Text, m.IsError))
	}
	t.last = ""
	if m.TurnID == "" && m.IsError { // the turn took no time and cost nothing, as the text says
		return lines
	}
	return append(lines, line{asNote, summary(m)})
}

// said returns the line for a text of claude, or for an error.
func (t *talk) said(text string, isError bool) line {
	if isError {
		return line{asProblem, text}
	}
	return line{asClaude, text}
}

// summary returns the duration and the cost of a turn.
func summary(m *api.Message) string {
	words := []string{(time.Duration(m.DurationMS) * time.Millisecond).Round(100 * time.Millisecond).String()}
	if m.CostUSD > 0 {
		words = append(words, fmt.Sprintf("$%.4f", m.CostUSD))
	}
	if m.Code != "" {
		words = append(words, term.SafeLine(m.Code))
	}
	return strings.Join(words, " · ")
}

// activity describes the present activity of the channel in a few words, empty without any.
func (t *talk) activity(now time.Time) string {
	switch waiting := len(t.open); {
	case t.lost:
		return "the gateway is away; trying to reach it"
	case t.turn == "" && waiting > 0:
		for _, q := range t.open {
			if q.Why != "" {
				return "waiting: " + term.SafeLine(q.Why)
			}
		}
		return "waiting"
	case t.turn == "":
		return ""
	}
	what := "working"
	switch {
	case len(t.asks) > 0:
		what = "waiting for you"
	case t.doing != "":
		what = term.SafeLine(t.doing)
	case len(t.calls) > 0:
		what = t.calls[len(t.calls)-1].describe()
	case t.text.Len() > 0:
		what = "writing"
	case t.thinking:
		what = "thinking"
	}
	s := fmt.Sprintf("%s · %s", what, now.Sub(t.since).Truncate(time.Second))
	if n := len(t.open); n > 0 {
		s += fmt.Sprintf(" · %d waiting", n)
	}
	return s
}
