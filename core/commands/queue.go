package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/shortid"
)

// queueShown is how many waiting messages are listed.
const queueShown = 10

const unknownMessage = "This message is no longer known."

// queues show and change the queues of channels.
type queues struct {
	channels Channels
	queue    Queue
	messages Messages
}

func (q queues) show(ctx context.Context, c Call) (Note, error) {
	st, err := q.channels.Present(ctx, c.Channel)
	if err != nil {
		return Note{}, Failed("read the state of the chat", err)
	}
	waiting, err := q.queue.Queue(ctx, c.Channel)
	if err != nil {
		return Note{}, Failed("read the queue", err)
	}
	return queueNote(st, waiting), nil
}

// change drops a message, or runs it now, and shows the queue then: drop ID, or now ID.
func (q queues) change(ctx context.Context, c Call) (Note, error) {
	verb, text, _ := strings.Cut(c.Arg, " ")
	change := map[string]func(context.Context, core.MessageID) (string, error){"drop": q.drop, "now": q.runNow}[verb]
	if change == nil {
		return q.show(ctx, c)
	}
	id, err := q.find(ctx, c.Channel, text)
	done := ""
	if err == nil {
		done, err = change(ctx, id)
	}
	unclear, isUnclear := errors.AsType[*shortid.NoMatchError](err)
	switch {
	case isUnclear && unclear.Found > 1:
		return severalMessages(text), nil
	case isUnclear, errors.Is(err, core.ErrNotFound):
		done = unknownMessage
	case err != nil:
		return Note{}, Failed("change the queue", err)
	}
	note, err := q.show(ctx, c)
	note.Done = done
	return note, err
}

// find returns the message of a channel that a text stands for. A message of another channel is
// none: whoever may act on a channel may not act on others.
func (q queues) find(ctx context.Context, key core.ChannelKey, text string) (core.MessageID, error) {
	id, err := q.messages.Find(ctx, strings.TrimSpace(text))
	if err != nil {
		return "", err
	}
	m, err := q.messages.Message(ctx, id)
	if err == nil && m.Channel != key {
		err = core.ErrNotFound
	}
	return id, err
}

func (q queues) drop(ctx context.Context, id core.MessageID) (string, error) {
	m, err := q.queue.Cancel(ctx, id)
	if errors.Is(err, core.ErrNotWaiting) {
		return notWaiting(m), nil
	}
	return "Dropped.", err
}

// runNow runs a message before the other messages, and stops the running turn. A repeated call
// completes the stop.
func (q queues) runNow(ctx context.Context, id core.MessageID) (string, error) {
	err := q.queue.RunNow(ctx, id)
	if !errors.Is(err, core.ErrNotWaiting) {
		return "This message is next; what was running has been stopped.", err
	}
	m, err := q.messages.Message(ctx, id)
	return notWaiting(m), err
}

func severalMessages(text string) Note {
	return Note{Text: "Several messages have an id that begins or ends with " + mdtext.Code(text) + ". Write more of it."}
}

func notWaiting(m core.Message) string {
	return "This message is no longer waiting: it is " + string(m.State) + "."
}

func queueNote(st core.ChannelStatus, waiting []core.Message) Note {
	var b strings.Builder
	if st.Turn != "" || st.State == core.StateParked {
		b.WriteString("Now: " + activity(st, time.Now()) + "\n\n")
	}
	if len(waiting) == 0 {
		b.WriteString("No message is waiting.")
		return Note{Text: b.String()}
	}
	b.WriteString(mdtext.Count(len(waiting), "message is waiting:", "messages are waiting:") + "\n\n")
	n := Note{Columns: 2}
	for i := range waiting {
		if i == queueShown {
			fmt.Fprintf(&b, "\nAnd %d more.", len(waiting)-i)
			break
		}
		m := &waiting[i]
		fmt.Fprintf(&b, "%d\\. %s\n", i+1, mdtext.Literal(Summary(m)))
		n.Choices = append(n.Choices,
			Choice{fmt.Sprintf("Drop %d", i+1), "/queue drop " + string(m.ID)},
			Choice{fmt.Sprintf("Run %d now", i+1), "/queue now " + string(m.ID)})
	}
	n.Text = b.String()
	return n
}
