package httpapi

import (
	"cmp"
	"slices"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/internal/humanize"
)

// promptLength says how much of a prompt a message shows.
type promptLength bool

const (
	shortPrompt promptLength = false
	longPrompt  promptLength = true // for an answer about a single message
)

func showMessage(m *core.Message, at core.QueuePosition, length promptLength) *api.Message {
	shown := &api.Message{Accepted: showAccepted(m, at, length)}
	if !m.State.Final() {
		return shown
	}
	r := &m.Reply
	shown.Text, shown.IsError, shown.DurationMS = r.Text, r.IsError, r.Duration.Milliseconds()
	shown.Coalesced, shown.Into, shown.CostUSD = r.Coalesced, string(r.Into), humanize.RoundUSD(r.CostUSD)
	shown.Error, shown.Code = r.Error, r.Code
	shown.SessionID, shown.EndedAt = r.SessionID, m.EndedAt
	for _, n := range r.Notices {
		shown.Notices = append(shown.Notices, api.Notice(n))
	}
	return shown
}

func showAccepted(m *core.Message, at core.QueuePosition, length promptLength) api.Accepted {
	p := m.Prompt
	if length == shortPrompt {
		p = p.Short()
	}
	p.User = m.Origin.User
	return api.Accepted{
		ID:         string(m.ID),
		Channel:    string(m.Channel),
		State:      string(m.State),
		Prompt:     showPrompt(&p),
		TurnID:     string(m.Turn),
		Adapter:    m.Adapter,
		RetryOf:    string(m.RetryOf),
		Position:   at.Position,
		Why:        at.Why,
		Until:      at.Until,
		ReceivedAt: m.ReceivedAt,
	}
}

func showPrompt(p *core.Prompt) api.Prompt {
	shown := api.Prompt{Text: p.Text, Truncated: p.Truncated, User: p.User}
	for _, b := range p.Blocks {
		shown.Blocks = append(shown.Blocks, api.Block(b))
	}
	return shown
}

func showApproval(a *core.Approval) api.Approval {
	shown := api.Approval{
		ID:         a.ID,
		Kind:       approvalKind(a),
		Channel:    string(a.Channel),
		MessageID:  string(a.Message),
		Prompt:     showPrompt(&a.Prompt),
		TurnID:     string(a.Turn),
		State:      string(a.State),
		Tool:       a.Tool,
		Input:      a.Input,
		Why:        a.Why,
		Suggestion: a.Suggestion,
		Reason:     a.Reason,
		RetryID:    string(a.Retry),
		CreatedAt:  a.CreatedAt,
		ExpiresAt:  a.ExpiresAt,
		DecidedAt:  a.DecidedAt,
	}
	if a.State == core.ApprovalPending {
		shown.Always = core.AlwaysRules(*a)
	}
	return shown
}

func approvalKind(a *core.Approval) string { return cmp.Or(string(a.Kind), "tool") }

func showBackground(g *core.Background) api.Background {
	return api.Background{ID: g.ID, Text: g.Text, WokenBy: g.WokenBy, IsError: g.IsError, CreatedAt: g.CreatedAt}
}

func showToolChange(c *core.ToolChange) api.ToolChange {
	return api.ToolChange{
		Tool:    c.Tool,
		Source:  c.Source,
		Mount:   c.Mount,
		Version: c.Version,
	}
}

func showRule(r *core.Rule) api.Rule {
	return api.Rule{ID: r.ID, Rule: r.Rule, Tool: r.Tool, By: r.By, CreatedAt: r.CreatedAt}
}

func showDelivery(d *core.Delivery) api.Delivery {
	return api.Delivery{
		ID:        d.ID,
		Kind:      string(d.Kind),
		Adapter:   d.Adapter,
		Channel:   string(d.Channel),
		State:     string(d.State),
		Attempts:  d.Attempts,
		Error:     d.Error,
		CreatedAt: d.CreatedAt,
		EndedAt:   d.EndedAt,
	}
}

func each[T, S any](all []T, show func(*T) S) []S {
	shown := make([]S, len(all))
	for i := range all {
		shown[i] = show(&all[i])
	}
	return shown
}

func idStrings[S ~string](ids []S) []string {
	return each(ids, func(id *S) string { return string(*id) })
}

func showTrace(t *core.Trace) *api.Trace {
	marks := timeline(t)
	showMark := func(m *core.Mark) api.Mark {
		return api.Mark{
			What:    m.What,
			Detail:  m.Detail,
			At:      m.At,
			AfterMS: m.At.Sub(t.Message.ReceivedAt).Milliseconds(),
			TookMS:  m.Took.Milliseconds(),
		}
	}
	return &api.Trace{
		Message:    *showMessage(&t.Message, t.QueuePosition, longPrompt),
		Members:    idStrings(t.Members),
		Approvals:  each(t.Approvals, showApproval),
		Deliveries: each(t.Deliveries, showDelivery),
		Timeline:   each(marks, showMark),
		Durations:  durations(&t.Message, marks),
	}
}

func timeline(t *core.Trace) []core.Mark {
	m := &t.Message
	marks := []core.Mark{{At: m.ReceivedAt, What: "received"}}
	add := func(at time.Time, what, detail string, took time.Duration) {
		if !at.IsZero() {
			marks = append(marks, core.Mark{At: at, What: what, Detail: detail, Took: max(0, took)})
		}
	}
	if waited := m.DispatchedAt.Sub(m.ReceivedAt); m.State == core.Waiting || waited >= time.Millisecond {
		add(m.ReceivedAt, "queued", t.Why, waited)
	}
	add(m.DispatchedAt, "dispatched", "", 0)
	if t.Turn != nil {
		marks = append(marks, t.Turn.Marks...)
	}
	for _, a := range t.Approvals {
		add(a.CreatedAt, "approval "+string(a.State), cmp.Or(a.Tool, approvalKind(&a)), a.DecidedAt.Sub(a.CreatedAt))
	}
	add(m.EndedAt, string(m.State), m.Reply.Code, 0)
	for _, d := range t.Deliveries {
		what := "delivered"
		if d.State == core.DeliveryFailed {
			what = "not delivered"
		}
		add(d.EndedAt, what, string(d.Kind), d.EndedAt.Sub(d.CreatedAt))
	}
	slices.SortStableFunc(marks, func(a, b core.Mark) int { return a.At.Compare(b.At) })
	return marks
}

func durations(m *core.Message, marks []core.Mark) api.Durations {
	between := func(from, to time.Time) *int64 {
		if from.IsZero() || to.IsZero() {
			return nil
		}
		ms := max(0, to.Sub(from)).Milliseconds()
		return &ms
	}
	d := api.Durations{
		QueuedMS:  between(m.ReceivedAt, m.DispatchedAt),
		RunningMS: between(m.DispatchedAt, m.EndedAt),
		TotalMS:   between(m.ReceivedAt, m.EndedAt),
	}
	if i := slices.IndexFunc(marks, func(k core.Mark) bool { return k.What == "first_event" }); i >= 0 {
		d.FirstEventMS = between(m.DispatchedAt, marks[i].At)
	}
	return d
}
