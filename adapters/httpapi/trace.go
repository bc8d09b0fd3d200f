package httpapi

import (
	"cmp"
	"slices"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

// showTrace returns the history of a message, which was delivered at that time.
func showTrace(t *core.Trace, delivered time.Time) *api.Trace {
	marks := timeline(t, delivered)
	return &api.Trace{
		Message:    *showMessage(&t.Message, t.Place, longPrompt),
		Members:    idStrings(t.Members),
		Approvals:  showApprovals(t.Approvals),
		Deliveries: showDeliveries(t.Deliveries),
		Timeline:   showMarks(marks, t.Message.ReceivedAt),
		Durations:  durations(&t.Message, marks),
	}
}

// timeline returns all steps of a message in order.
func timeline(t *core.Trace, delivered time.Time) []core.Mark {
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
	add(delivered, "delivered", m.Adapter, 0)
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
