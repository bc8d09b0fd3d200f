package telegram

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"
)

const (
	// whyLooks is how many messages of a chat are looked at to find the one that a
	// message of the bot belongs to.
	whyLooks = 50
	// whyMarks is how many points of a timeline are shown; of more, the last ones.
	whyMarks = 40
)

// cmdWhy says what became of a message: that which is replied to, or the last one.
func (a *Adapter) cmdWhy(ctx context.Context, c call) Note {
	id, err := a.asksAbout(ctx, c)
	switch {
	case err != nil:
		return a.failed(ctx, "find the message", err)
	case id == "" && c.message.ReplyToMessage != nil && !opensTopic(c):
		return Note{Text: "It is not known what this message belongs to. Reply to one that you wrote, or to an answer."}
	case id == "":
		return Note{Text: "No message of this chat has been taken up yet."}
	}
	t, err := a.o.Core.Trace(ctx, id)
	if errors.Is(err, core.ErrNotFound) {
		return Note{Text: "This message is not known any more."}
	}
	if err != nil {
		return a.failed(ctx, "read the message", err)
	}
	return Note{Text: traceText(t)}
}

// opensTopic reports whether the message only seems to be a reply, as each does in
// a topic: to the one that opened it.
func opensTopic(c call) bool {
	m := c.message
	return m.IsTopicMessage && m.ReplyToMessage.ID == m.MessageThreadID
}

// asksAbout returns the message that a /why is about; empty if that is not known.
func (a *Adapter) asksAbout(ctx context.Context, c call) (core.MessageID, error) {
	newest, err := a.o.Core.Messages(ctx, c.place.Key(), whyLooks, "")
	if err != nil {
		return "", err
	}
	if c.message.ReplyToMessage == nil || opensTopic(c) {
		if len(newest) == 0 {
			return "", nil
		}
		return newest[0].ID, nil
	}
	replied := c.message.ReplyToMessage.ID
	if r := a.records.LinkOf(ctx, c.place.Chat, replied); r.Message != "" {
		return r.Message, nil
	}
	for _, m := range newest {
		t, err := a.o.Core.Trace(ctx, m.ID)
		if err != nil {
			return "", err
		}
		for _, d := range t.Deliveries {
			if sent, err := a.sentAs(ctx, d.ID); err == nil && slices.Contains(sent, replied) {
				return m.ID, nil
			}
		}
	}
	return "", nil
}

// traceText tells a message's timeline in words.
func traceText(t core.Trace) string {
	var b strings.Builder
	m := t.Message
	at := func(when time.Time, format string, args ...any) {
		fmt.Fprintf(&b, "%s %s\n", code(when.Local().Format("15:04:05")), fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "%s\n\n", literal(sayBrief(m)))
	at(m.ReceivedAt, "received, %s", m.ReceivedAt.Local().Format(time.DateOnly))
	if t.Position > 0 {
		fmt.Fprintf(&b, "It waits as number %d. %s\n", t.Position, literal(t.Why))
	}
	if t.Turn != nil {
		at(t.Turn.BegunAt, "handed to Claude after %s%s", seconds(t.Turn.BegunAt.Sub(m.ReceivedAt)), together(t.Members))
		timeline(&b, at, unsaid(t.Turn.Marks))
	}
	for i := range t.Approvals {
		if p := &t.Approvals[i]; p.State != core.ApprovalPending {
			at(p.DecidedAt, "%s: %s", literal(subject(p)), literal(decidedText(p)))
		}
	}
	if m.State.Final() {
		at(m.EndedAt, "%s after %s%s", m.State, seconds(m.EndedAt.Sub(m.ReceivedAt)), endText(m.Reply))
	} else {
		fmt.Fprintf(&b, "It is %s.\n", m.State)
	}
	for i := range t.Deliveries {
		deliveryText(at, &b, &t.Deliveries[i])
	}
	return b.String()
}

// together says with how many others a message ran.
func together(members []core.MessageID) string {
	if len(members) < 2 {
		return ""
	}
	return fmt.Sprintf(", together with %s", count(len(members)-1, "other message", "other messages"))
}

// unsaid leaves out what the line before them says.
func unsaid(marks []core.Mark) []core.Mark {
	if len(marks) > 0 && marks[0].What == "handed" {
		return marks[1:]
	}
	return marks
}

func timeline(b *strings.Builder, at func(time.Time, string, ...any), marks []core.Mark) {
	if over := len(marks) - whyMarks; over > 0 {
		fmt.Fprintf(b, "%s\n", count(over, "earlier point is left out", "earlier points are left out"))
		marks = marks[over:]
	}
	for _, k := range marks {
		text := strings.ReplaceAll(k.What, "_", " ")
		if k.Detail != "" {
			text += " " + code(brief(k.Detail, 80))
		}
		if k.Took > 0 {
			text += ", " + seconds(k.Took)
		}
		at(k.At, "%s", text)
	}
}

func endText(r core.Reply) string {
	var b strings.Builder
	if r.Code != "" {
		fmt.Fprintf(&b, " (%s)", code(r.Code))
	}
	if r.Error != "" {
		b.WriteString(": " + literal(brief(r.Error, 300)))
	}
	if r.Coalesced {
		b.WriteString(", with the answer to another message")
	}
	if r.CostUSD > 0 {
		b.WriteString(", " + humanize.USD(r.CostUSD))
	}
	return b.String()
}

func deliveryText(at func(time.Time, string, ...any), b *strings.Builder, d *core.Delivery) {
	what := strings.ReplaceAll(string(d.Kind), "_", " ")
	switch d.State {
	case core.DeliverySent:
		at(d.EndedAt, "%s delivered", what)
	case core.DeliveryFailed:
		at(d.EndedAt, "%s could not be delivered: %s", what, literal(brief(d.Error, 300)))
	case core.DeliveryPending:
		fmt.Fprintf(b, "The %s is being delivered.", what)
		if d.Error != "" {
			fmt.Fprintf(b, " Tried %s: %s", count(d.Attempts, "time", "times"), literal(brief(d.Error, 300)))
		}
		b.WriteString("\n")
	}
}
