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

// A queueChange changes the queue for a message, and says what it has done.
type queueChange func(ctx context.Context, id core.MessageID) (string, error)

// change drops a message, or runs it now, and shows the queue then: drop ID, or now ID.
func (q queues) change(ctx context.Context, c Call) (Note, error) {
	var change queueChange
	verb, text, _ := strings.Cut(c.Arg, " ")
	switch verb {
	case "drop":
		change = q.drop
	case "now":
		change = q.runNow
	default:
		return q.show(ctx, c)
	}
	done, err := q.changeFor(ctx, c.Channel, text, change)
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

// changeFor changes the queue for the message of a channel that a text stands for. A message of
// another channel is none: whoever may act on a channel may not act on others.
func (q queues) changeFor(ctx context.Context, key core.ChannelKey, text string, change queueChange) (string, error) {
	text = strings.TrimSpace(text)
	id, err := q.messages.Find(ctx, text)
	if err != nil {
		return "", err
	}
	m, err := q.messages.Message(ctx, id)
	if err != nil {
		return "", err
	}
	if m.Channel != key {
		return "", core.ErrNotFound
	}
	return change(ctx, id)
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
	id := mdtext.Code(text)
	return Note{Text: "Several messages have an id that begins or ends with " + id + ". Write more of it."}
}

func notWaiting(m core.Message) string {
	state := string(m.State)
	return "This message is no longer waiting: it is " + state + "."
}

// queueNote shows what runs and what waits, with choices for each waiting message.
func queueNote(st core.ChannelStatus, waiting []core.Message) Note {
	var b strings.Builder
	if st.Turn != "" || st.State == core.StateParked {
		now := activity(st, time.Now())
		b.WriteString("Now: " + now + "\n\n")
	}
	if len(waiting) == 0 {
		b.WriteString("No message is waiting.")
		return Note{Text: b.String()}
	}
	count := mdtext.Count(len(waiting), "message is waiting:", "messages are waiting:")
	b.WriteString(count + "\n\n")
	shown := waiting[:min(len(waiting), queueShown)]
	var choices []Choice
	for i := range shown {
		m := &shown[i]
		summary := mdtext.Literal(Summary(m))
		fmt.Fprintf(&b, "%d\\. %s\n", i+1, summary)
		choices = append(choices, queueChoices(i+1, m.ID)...)
	}
	if more := len(waiting) - len(shown); more > 0 {
		fmt.Fprintf(&b, "\nAnd %d more.", more)
	}
	return Note{
		Text:    b.String(),
		Choices: choices,
		Columns: 2,
	}
}

// queueChoices returns the choices for a waiting message, by its number in the list.
func queueChoices(number int, id core.MessageID) []Choice {
	drop := Choice{
		Label:   fmt.Sprintf("Drop %d", number),
		Command: "/queue drop " + string(id),
	}
	runNow := Choice{
		Label:   fmt.Sprintf("Run %d now", number),
		Command: "/queue now " + string(id),
	}
	return []Choice{drop, runNow}
}
