package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/shortid"
)

// history tells what became of messages.
type history struct{ messages Messages }

// newest tells of the last message of the channel.
func (h history) newest(ctx context.Context, c Call) (Note, error) {
	newest, err := h.messages.Messages(ctx, c.Channel, 1, "")
	switch {
	case err != nil:
		return Note{}, Failed("find the message", err)
	case len(newest) == 0:
		return Note{Text: "Claude has not received a message of this chat yet."}, nil
	}
	return h.tell(ctx, newest[0].ID)
}

// why tells of the message that the argument stands for, on whatever channel.
func (h history) why(ctx context.Context, c Call) (Note, error) {
	id, err := h.messages.Find(ctx, c.Arg)
	unclear, isUnclear := errors.AsType[*shortid.NoMatchError](err)
	switch {
	case isUnclear && unclear.Found > 1:
		return severalMessages(c.Arg), nil
	case isUnclear:
		return Note{Text: unknownMessage}, nil
	case err != nil:
		return Note{}, Failed("find the message", err)
	}
	return h.tell(ctx, id)
}

func (h history) tell(ctx context.Context, id core.MessageID) (Note, error) {
	t, err := h.messages.Trace(ctx, id)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return Note{Text: unknownMessage}, nil
	case err != nil:
		return Note{}, Failed("read the message", err)
	}
	return Note{Text: timeline(t)}, nil
}

// traceMarks is how many points of a timeline are shown: the last traceMarks points.
const traceMarks = 40

// timeline renders the history of a message, in the order of time.
func timeline(t core.Trace) string {
	w := &traceWriter{}
	m := &t.Message
	w.at(m.ReceivedAt, "received, %s", m.ReceivedAt.Local().Format(time.DateOnly))
	if t.Position > 0 {
		w.now("Waiting as number %d in the queue. %s", t.Position, mdtext.Literal(t.Why))
	}
	if t.Turn != nil {
		w.at(t.Turn.BegunAt, "handed to Claude after %s%s", mdtext.Duration(t.Turn.BegunAt.Sub(m.ReceivedAt)), together(t.Members))
		w.marks(t.Turn.Marks)
	}
	for i := range t.Approvals {
		if p := &t.Approvals[i]; p.State != core.ApprovalPending {
			w.at(p.DecidedAt, "%s: %s", mdtext.Literal(subject(p)), mdtext.Literal(Outcome(p)))
		}
	}
	if m.State.Final() {
		w.at(m.EndedAt, "%s after %s%s", m.State, mdtext.Duration(m.EndedAt.Sub(m.ReceivedAt)), replyFacts(m.Reply))
	} else {
		w.now("Now %s.", m.State)
	}
	for i := range t.Deliveries {
		w.delivery(&t.Deliveries[i])
	}
	return mdtext.Literal(Summary(m)) + "\n\n" + w.text()
}

// A traceWriter collects what happened, and what is still to happen.
type traceWriter struct {
	past    []traceLine
	present []string
}

type traceLine struct {
	when time.Time
	text string
}

func (w *traceWriter) at(when time.Time, format string, args ...any) {
	w.past = append(w.past, traceLine{when, mdtext.Code(when.Local().Format("15:04:05")) + " " + fmt.Sprintf(format, args...)})
}

func (w *traceWriter) now(format string, args ...any) {
	w.present = append(w.present, fmt.Sprintf(format, args...))
}

func (w *traceWriter) text() string {
	slices.SortStableFunc(w.past, func(a, b traceLine) int { return a.when.Compare(b.when) })
	var b strings.Builder
	for _, line := range w.past {
		b.WriteString(line.text + "\n")
	}
	for _, line := range w.present {
		b.WriteString(line + "\n")
	}
	return b.String()
}

func together(members []core.MessageID) string {
	if len(members) < 2 {
		return ""
	}
	return fmt.Sprintf(", together with %s", mdtext.Count(len(members)-1, "other message", "other messages"))
}

func (w *traceWriter) marks(marks []core.Mark) {
	if len(marks) > 0 && marks[0].What == "handed" { // contained in the line before
		marks = marks[1:]
	}
	if over := len(marks) - traceMarks; over > 0 {
		marks = marks[over:]
		w.past = append(w.past, traceLine{marks[0].At, mdtext.Count(over, "earlier point is left out", "earlier points are left out")})
	}
	for _, k := range marks {
		text := strings.ReplaceAll(k.What, "_", " ")
		if k.Detail != "" {
			text += " " + mdtext.Code(mdtext.Brief(k.Detail, 80))
		}
		if k.Took > 0 {
			text += ", " + mdtext.Duration(k.Took)
		}
		w.at(k.At, "%s", text)
	}
}

func replyFacts(r core.Reply) string {
	var b strings.Builder
	if r.Code != "" {
		fmt.Fprintf(&b, " (%s)", mdtext.Code(r.Code))
	}
	if r.Error != "" {
		b.WriteString(": " + mdtext.Literal(mdtext.Brief(r.Error, 300)))
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
		w.at(d.EndedAt, "%s could not be delivered: %s", what, mdtext.Literal(mdtext.Brief(d.Error, 300)))
	case core.DeliveryPending:
		tried := ""
		if d.Error != "" {
			tried = " Tried " + mdtext.Count(d.Attempts, "time", "times") + ": " + mdtext.Literal(mdtext.Brief(d.Error, 300))
		}
		w.now("The %s is being delivered.%s", what, tried)
	}
}
