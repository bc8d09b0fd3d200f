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
	text := timeline(t)
	return Note{Text: text}, nil
}

// traceMarks is how many points of a timeline are shown: the last traceMarks points.
const traceMarks = 40

// timeline renders the history of a message, in the order of time.
func timeline(t core.Trace) string {
	w := &traceWriter{}
	m := &t.Message
	w.received(m)
	w.waiting(&t)
	if t.Turn != nil {
		w.turn(&t)
	}
	for i := range t.Approvals {
		w.approval(&t.Approvals[i])
	}
	w.state(m)
	for i := range t.Deliveries {
		w.delivery(&t.Deliveries[i])
	}
	summary := mdtext.Literal(Summary(m))
	return summary + "\n\n" + w.text()
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

// at adds what happened at a time, with the time of day.
func (w *traceWriter) at(when time.Time, text string) {
	clock := when.Local().Format("15:04:05")
	w.untimed(when, mdtext.Code(clock)+" "+text)
}

// untimed adds what happened at a time, without the time of day.
func (w *traceWriter) untimed(when time.Time, text string) {
	line := traceLine{
		when: when,
		text: text,
	}
	w.past = append(w.past, line)
}

// now adds what is still to happen.
func (w *traceWriter) now(text string) {
	w.present = append(w.present, text)
}

func (w *traceWriter) text() string {
	slices.SortStableFunc(w.past, func(a, b traceLine) int {
		return a.when.Compare(b.when)
	})
	var b strings.Builder
	for _, line := range w.past {
		b.WriteString(line.text + "\n")
	}
	for _, text := range w.present {
		b.WriteString(text + "\n")
	}
	return b.String()
}

func (w *traceWriter) received(m *core.Message) {
	day := m.ReceivedAt.Local().Format(time.DateOnly)
	w.at(m.ReceivedAt, "received, "+day)
}

func (w *traceWriter) waiting(t *core.Trace) {
	if t.Position > 0 {
		why := mdtext.Literal(t.Why)
		w.now(fmt.Sprintf("Waiting as number %d in the queue. %s", t.Position, why))
	}
}

func (w *traceWriter) turn(t *core.Trace) {
	begun := t.Turn.BegunAt
	waited := begun.Sub(t.Message.ReceivedAt)
	w.at(begun, "handed to Claude after "+mdtext.Duration(waited)+together(t.Members))
	w.marks(t.Turn.Marks)
}

// together counts the other members of a turn.
func together(members []core.MessageID) string {
	others := len(members) - 1
	if others < 1 {
		return ""
	}
	return ", together with " + mdtext.Count(others, "other message", "other messages")
}

func (w *traceWriter) marks(marks []core.Mark) {
	if len(marks) > 0 && marks[0].What == "handed" { // contained in the line before
		marks = marks[1:]
	}
	over := len(marks) - traceMarks
	if over > 0 {
		marks = marks[over:]
		w.untimed(marks[0].At, mdtext.Count(over, "earlier point is left out", "earlier points are left out"))
	}
	for i := range marks {
		w.at(marks[i].At, point(&marks[i]))
	}
}

// point describes a point of a turn.
func point(k *core.Mark) string {
	text := spaced(k.What)
	if k.Detail != "" {
		detail := mdtext.Brief(k.Detail, 80)
		text += " " + mdtext.Code(detail)
	}
	if k.Took > 0 {
		text += ", " + mdtext.Duration(k.Took)
	}
	return text
}

// spaced returns the name of a kind as words.
func spaced(kind string) string {
	return strings.ReplaceAll(kind, "_", " ")
}

// approval tells of a decision, and not of an approval that is still open.
func (w *traceWriter) approval(p *core.Approval) {
	if p.State == core.ApprovalPending {
		return
	}
	about := mdtext.Literal(subject(p))
	outcome := mdtext.Literal(Outcome(p))
	w.at(p.DecidedAt, about+": "+outcome)
}

// state tells what has become of a message, or what state the message is in.
func (w *traceWriter) state(m *core.Message) {
	state := string(m.State)
	if !m.State.Final() {
		w.now("Now " + state + ".")
		return
	}
	took := m.EndedAt.Sub(m.ReceivedAt)
	text := state + " after " + mdtext.Duration(took)
	w.at(m.EndedAt, text+replyFacts(m.Reply))
}

func replyFacts(r core.Reply) string {
	var b strings.Builder
	if r.Code != "" {
		b.WriteString(" (" + mdtext.Code(r.Code) + ")")
	}
	if r.Error != "" {
		b.WriteString(": " + reason(r.Error))
	}
	if r.Coalesced {
		b.WriteString(", with the answer to another message")
	}
	if r.CostUSD > 0 {
		b.WriteString(", " + humanize.USD(r.CostUSD))
	}
	return b.String()
}

// reason returns the beginning of an error, as Markdown.
func reason(text string) string {
	return mdtext.Literal(mdtext.Brief(text, 300))
}

func (w *traceWriter) delivery(d *core.Delivery) {
	what := spaced(string(d.Kind))
	switch d.State {
	case core.DeliverySent:
		w.at(d.EndedAt, what+" delivered")
	case core.DeliveryFailed:
		w.at(d.EndedAt, what+" could not be delivered: "+reason(d.Error))
	case core.DeliveryPending:
		w.now("The " + what + " is being delivered." + tried(d))
	}
}

// tried tells of the attempts that a delivery has failed in so far.
func tried(d *core.Delivery) string {
	if d.Error == "" {
		return ""
	}
	times := mdtext.Count(d.Attempts, "time", "times")
	return " Tried " + times + ": " + reason(d.Error)
}
