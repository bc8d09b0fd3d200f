package chat

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core"
	"bareclaw/core/progress"
	"bareclaw/internal/term"
	"bareclaw/internal/visible"
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
	asGateway // Markdown of the gateway itself
	asChoices // commands that may be written next
)

// A line is a text for the scrollback. It may take several rows of the terminal.
type line struct {
	look look
	text string
}

// A talk is the state of the conversation. A talk takes the updates of the channel and
// returns the lines for the scrollback. A talk is not safe for concurrent use.
type talk struct {
	fold    *progress.Fold
	ended   map[string]bool // turns and messages with a shown outcome
	last    progress.Said   // the last shown text of claude in a turn
	asks    []*form         // approvals waiting for an answer, oldest first
	askedAt time.Time       // when the first approval was shown
	decided map[string]bool // closed approvals
	lost    bool            // the gateway is away
}

func newTalk() *talk {
	return &talk{fold: progress.New(progress.Options{Show: claude.Show}), ended: map[string]bool{}, decided: map[string]bool{}}
}

// busy reports whether a turn runs or a message waits; Ctrl-C can stop both.
func (t *talk) busy() bool {
	switch t.fold.View().Phase {
	case progress.Idle, progress.Ended:
		return false
	}
	return true
}

// turn returns the id of the running turn; empty without a turn.
func (t *talk) turn() core.TurnID {
	if v := t.fold.View(); v.Phase == progress.Running {
		return v.Turn
	}
	return ""
}

func (t *talk) take(u core.Update) (lines []line) {
	news := t.fold.Take(u)
	for _, s := range news.Said {
		t.last = s
		lines = append(lines, line{asClaude, s.Text})
	}
	for _, call := range news.Calls {
		lines = append(lines, called(call)...)
	}
	switch u.Kind {
	case core.UpdateApproval:
		lines = append(lines, t.asked(*u.Approval)...)
	case core.UpdateApprovalClosed:
		lines = append(lines, t.closed(*u.Approval)...)
	case core.UpdateBackground:
		lines = append(lines, words(u.Background.Text, u.Background.IsError))
	case core.UpdateResult:
		lines = append(lines, t.outcome(u.Message)...)
	case core.UpdateAccepted, core.UpdateQueued, core.UpdateStarted, core.UpdateEvent:
	case api.NoticeGap: // replaces a text that names an HTTP route; the chat looks up the outcomes
		lines = append(lines, line{asNote, "Some of what was said may be missing here, or come a second time: the gateway ended without notice."})
	default: // a notice
		lines = append(lines, line{asNote, u.Detail})
	}
	return lines
}

func called(call progress.Line) []line {
	text := call.String()
	switch {
	case call.Hidden:
		return nil
	case call.Sub:
		text = "  " + text
	}
	if call.IsError {
		return []line{{asFailedTool, text}}
	}
	return []line{{asTool, text}}
}

// sent records a message of the chat. The reply accepting the message may arrive after the
// updates of the message's turn.
func (t *talk) sent(at time.Time, m *api.Accepted) {
	t.fold.Take(core.Update{Kind: core.UpdateQueued, At: at, Message: &core.Message{ID: core.MessageID(m.ID)}, Position: m.Position, Detail: m.Why})
}

// found processes the channel's state after updates may have been missed.
func (t *talk) found(f found) (lines []line) {
	for i := range f.over {
		lines = append(lines, t.take(core.Update{Kind: core.UpdateResult, At: f.at, Message: client.Message(&f.over[i])})...)
	}
	if turn := t.turn(); turn != "" && turn == f.turn && f.state != "" && f.state != core.StateRunning { // of messages that are not known
		t.fold.Take(core.Update{Kind: core.UpdateResult, At: f.at, Message: &core.Message{Turn: turn}})
	}
	for _, form := range slices.Clone(t.asks) {
		a := &form.approval
		waits := slices.ContainsFunc(f.pending, func(p core.Approval) bool { return p.ID == a.ID })
		if f.sure && slices.Contains(f.known, a.ID) && !waits {
			t.fold.Take(core.Update{Kind: core.UpdateApprovalClosed, Approval: a})
			lines = append(lines, t.remove(*a, "waits no longer")...)
		}
	}
	for i := range f.pending {
		t.fold.Take(core.Update{Kind: core.UpdateApproval, Approval: &f.pending[i]})
		lines = append(lines, t.asked(f.pending[i])...)
	}
	if len(t.asks) > 0 && t.asks[0].approval.ID == f.again { // its answer was refused
		t.asks[0].at = 0
		lines = append(lines, t.ask()...)
	}
	return lines
}

func (t *talk) asked(a core.Approval) []line {
	known := slices.ContainsFunc(t.asks, func(f *form) bool { return f.approval.ID == a.ID })
	if known || t.decided[a.ID] { // the list of pending approvals may be older than the updates
		return nil
	}
	t.asks = append(t.asks, newForm(a))
	if len(t.asks) > 1 {
		return nil // the approval is shown after the earlier ones are answered
	}
	return t.ask()
}

func (t *talk) ask() []line {
	if len(t.asks) == 0 {
		return nil
	}
	t.askedAt = time.Now()
	return []line{{asQuestion, t.asks[0].ask()}}
}

func (t *talk) closed(a core.Approval) []line {
	t.decided[a.ID] = true
	return t.remove(a, string(a.State))
}

func (t *talk) asking() (ids []string) {
	for _, f := range t.asks {
		ids = append(ids, f.approval.ID)
	}
	return ids
}

// remove removes an approval that is no longer pending, and shows the approval's state.
func (t *talk) remove(a core.Approval, state string) []line {
	i := slices.IndexFunc(t.asks, func(f *form) bool { return f.approval.ID == a.ID })
	if i < 0 {
		return nil
	}
	cut := t.asks[i].cut()
	t.asks = slices.Delete(t.asks, i, i+1)
	subject := strings.TrimSpace(visible.Words(a.Tool + " " + claude.ToolTarget(a.Input)))
	if cut {
		subject = "The turn that was cut"
	}
	lines := []line{{asNote, subject + ": " + state}}
	if i == 0 {
		lines = append(lines, t.ask()...)
	}
	return lines
}

// outcome processes the outcome of a message. All messages of a turn share an outcome.
func (t *talk) outcome(m *core.Message) (lines []line) {
	key := string(m.ID)
	if m.Turn != "" {
		key = string(m.Turn)
	}
	if m.Reply.Coalesced || t.ended[key] {
		return nil
	}
	t.ended[key] = true
	r := &m.Reply
	text, shown := strings.TrimSpace(r.Text), t.last.Turn == m.Turn && strings.TrimSpace(t.last.Text) == strings.TrimSpace(r.Text)
	if text != "" && (r.IsError || !shown) {
		lines = append(lines, words(r.Text, r.IsError))
	}
	if m.Turn == "" && r.IsError { // the turn took no time and cost nothing, as the text says
		return lines
	}
	return append(lines, line{asNote, summary(r)})
}

func words(text string, isError bool) line {
	if isError {
		return line{asProblem, text}
	}
	return line{asClaude, text}
}

func summary(r *core.Reply) string {
	parts := []string{r.Duration.Round(100 * time.Millisecond).String()}
	if r.CostUSD > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", r.CostUSD))
	}
	if r.Code != "" {
		parts = append(parts, term.SafeLine(r.Code))
	}
	return strings.Join(parts, " · ")
}

// activity describes the present activity of the channel in a line, empty without any.
func (t *talk) activity(now time.Time) string {
	v := t.fold.View()
	if t.lost {
		return "The gateway is away; trying to reach it"
	}
	if v.Phase == progress.Ended { // the summary is in the scrollback
		return ""
	}
	return v.Status(now)
}
