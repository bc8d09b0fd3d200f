package view

import (
	"fmt"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"
)

// traceMarks is how many points of a timeline are shown: the last traceMarks points.
const traceMarks = 40

// Trace renders the history of a message.
func Trace(t core.Trace) string {
	w := &traceWriter{}
	m := &t.Message
	fmt.Fprintf(w, "%s\n\n", Literal(Summary(m)))
	w.at(m.ReceivedAt, "received, %s", m.ReceivedAt.Local().Format(time.DateOnly))
	if t.Position > 0 {
		fmt.Fprintf(w, "Waiting as number %d in the queue. %s\n", t.Position, Literal(t.Why))
	}
	if t.Turn != nil {
		w.at(t.Turn.BegunAt, "handed to Claude after %s%s", Duration(t.Turn.BegunAt.Sub(m.ReceivedAt)), together(t.Members))
		w.marks(t.Turn.Marks)
	}
	for i := range t.Approvals {
		if p := &t.Approvals[i]; p.State != core.ApprovalPending {
			subject, _, _ := words(p)
			w.at(p.DecidedAt, "%s: %s", Literal(subject), Literal(Outcome(p)))
		}
	}
	if m.State.Final() {
		w.at(m.EndedAt, "%s after %s%s", m.State, Duration(m.EndedAt.Sub(m.ReceivedAt)), replyFacts(m.Reply))
	} else {
		fmt.Fprintf(w, "Now %s.\n", m.State)
	}
	for i := range t.Deliveries {
		w.delivery(&t.Deliveries[i])
	}
	return w.String()
}

type traceWriter struct{ strings.Builder }

func (w *traceWriter) at(when time.Time, format string, args ...any) {
	fmt.Fprintf(w, "%s %s\n", Code(when.Local().Format("15:04:05")), fmt.Sprintf(format, args...))
}

func together(members []core.MessageID) string {
	if len(members) < 2 {
		return ""
	}
	return fmt.Sprintf(", together with %s", Count(len(members)-1, "other message", "other messages"))
}

func (w *traceWriter) marks(marks []core.Mark) {
	if len(marks) > 0 && marks[0].What == "handed" { // contained in the line before
		marks = marks[1:]
	}
	if over := len(marks) - traceMarks; over > 0 {
		fmt.Fprintf(w, "%s\n", Count(over, "earlier point is left out", "earlier points are left out"))
		marks = marks[over:]
	}
	for _, k := range marks {
		text := strings.ReplaceAll(k.What, "_", " ")
		if k.Detail != "" {
			text += " " + Code(Brief(k.Detail, 80))
		}
		if k.Took > 0 {
			text += ", " + Duration(k.Took)
		}
		w.at(k.At, "%s", text)
	}
}

func replyFacts(r core.Reply) string {
	var b strings.Builder
	if r.Code != "" {
		fmt.Fprintf(&b, " (%s)", Code(r.Code))
	}
	if r.Error != "" {
		b.WriteString(": " + Literal(Brief(r.Error, 300)))
	}
	if r.Coalesced {
		b.WriteString(", with the answer to another message")
	}
	if r.CostUSD > 0 {
		b.WriteString(", " + humanize.USD(r.CostUSD))
	}
	return b.String()
}

func (w *traceWriter) delivery(d *core.Delivery) {
	what := strings.ReplaceAll(string(d.Kind), "_", " ")
	switch d.State {
	case core.DeliverySent:
		w.at(d.EndedAt, "%s delivered", what)
	case core.DeliveryFailed:
		w.at(d.EndedAt, "%s could not be delivered: %s", what, Literal(Brief(d.Error, 300)))
	case core.DeliveryPending:
		fmt.Fprintf(w, "The %s is being delivered.", what)
		if d.Error != "" {
			fmt.Fprintf(w, " Tried %s: %s", Count(d.Attempts, "time", "times"), Literal(Brief(d.Error, 300)))
		}
		w.WriteString("\n")
	}
}
