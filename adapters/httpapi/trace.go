package httpapi

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core"
)

type traceShape struct {
	Message    jsontext.Value   `json:"message"`
	Members    []core.MessageID `json:"members"`
	Approvals  []approvalShape  `json:"approvals"`
	Deliveries []deliveryShape  `json:"deliveries"`
	Timeline   []markShape      `json:"timeline"`
	Durations  durationsShape   `json:"durations"`
}

// deliveryShape is something that an adapter brings to the sender.
type deliveryShape struct {
	ID        string `json:"id"`
	Kind      string `json:"kind"`
	Adapter   string `json:"adapter"`
	Channel   string `json:"channel"`
	State     string `json:"state"`
	Attempts  int    `json:"attempts"`
	Error     string `json:"error,omitempty"`
	CreatedAt string `json:"created_at"`
	EndedAt   string `json:"ended_at,omitempty"`
}

type markShape struct {
	What    string `json:"what"`
	Detail  string `json:"detail,omitempty"`
	At      string `json:"at"`
	AfterMS int64  `json:"after_ms"`
	TookMS  int64  `json:"took_ms,omitzero"`
}

// durationsShape has the stages of a message, each once it is over.
type durationsShape struct {
	QueuedMS     *int64 `json:"queued_ms,omitempty"`
	FirstEventMS *int64 `json:"first_event_ms,omitempty"`
	RunningMS    *int64 `json:"running_ms,omitempty"`
	TotalMS      *int64 `json:"total_ms,omitempty"`
}

func (s *Server) getTrace(w *response, r *http.Request) error {
	t, err := s.core.Trace(r.Context(), pathMessage(r))
	if err != nil {
		return err
	}
	marks := timeline(&t, s.deliveries.at(t.Message.ID))
	return show(w, traceShape{
		Message:    appendWhole(nil, &t.Message, t.Place),
		Members:    t.Members,
		Approvals:  showApprovals(t.Approvals),
		Deliveries: showDeliveries(t.Deliveries),
		Timeline:   showMarks(marks, t.Message.ReceivedAt),
		Durations:  durations(&t.Message, marks),
	})
}

// timeline puts everything that is known of a message in order.
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

func showDeliveries(ds []core.Delivery) []deliveryShape {
	shown := make([]deliveryShape, len(ds))
	for i, d := range ds {
		shown[i] = deliveryShape{
			ID: d.ID, Kind: string(d.Kind), Adapter: d.Adapter, Channel: string(d.Channel), State: string(d.State),
			Attempts: d.Attempts, Error: d.Error, CreatedAt: stamp(d.CreatedAt), EndedAt: stamp(d.EndedAt),
		}
	}
	return shown
}

func showMarks(marks []core.Mark, from time.Time) []markShape {
	shown := make([]markShape, len(marks))
	for i, mark := range marks {
		shown[i] = markShape{
			What: mark.What, Detail: mark.Detail, At: stamp(mark.At),
			AfterMS: mark.At.Sub(from).Milliseconds(), TookMS: mark.Took.Milliseconds(),
		}
	}
	return shown
}

func durations(m *core.Message, marks []core.Mark) durationsShape {
	between := func(from, to time.Time) *int64 {
		if from.IsZero() || to.IsZero() {
			return nil
		}
		ms := max(0, to.Sub(from)).Milliseconds()
		return &ms
	}
	d := durationsShape{
		QueuedMS:  between(m.ReceivedAt, m.DispatchedAt),
		RunningMS: between(m.DispatchedAt, m.EndedAt),
		TotalMS:   between(m.ReceivedAt, m.EndedAt),
	}
	if i := slices.IndexFunc(marks, func(k core.Mark) bool { return k.What == "first_event" }); i >= 0 {
		d.FirstEventMS = between(m.DispatchedAt, marks[i].At)
	}
	return d
}
