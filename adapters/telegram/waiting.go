package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/core"
)

// queueShown is how many waiting messages have buttons at once.
const queueShown = 10

// cmdQueue lists what waits.
func (a *Adapter) cmdQueue(ctx context.Context, c call) Note { return a.queueNote(ctx, c.place) }

func (a *Adapter) queueNote(ctx context.Context, p chats.Address) Note {
	st, err := a.o.Core.Present(ctx, p.Key())
	if err != nil {
		return a.failed(ctx, "look at the chat", err)
	}
	waiting, err := a.o.Core.Queue(ctx, p.Key())
	if err != nil {
		return a.failed(ctx, "read what waits", err)
	}
	var b strings.Builder
	if st.Turn != "" || st.State == core.StateParked {
		b.WriteString("Now: " + nowText(st, time.Now()) + "\n\n")
	}
	if len(waiting) == 0 {
		b.WriteString("Nothing waits.")
		return Note{Text: b.String()}
	}
	b.WriteString(count(len(waiting), "message waits:", "messages wait:") + "\n\n")
	var rows [][]Button
	for i, m := range waiting {
		if i == queueShown {
			fmt.Fprintf(&b, "\nAnd %d more.", len(waiting)-i)
			break
		}
		fmt.Fprintf(&b, "%d\\. %s\n", i+1, literal(sayBrief(m)))
		n := fmt.Sprint(i + 1)
		rows = append(rows, []Button{{"Drop " + n, "drop:" + string(m.ID)}, {"Run " + n + " now", "now:" + string(m.ID)}})
	}
	return Note{Text: b.String(), Buttons: rows}
}

// sayBrief is who said what, in a line.
func sayBrief(m core.Message) string {
	text := m.Content.Text
	if text == "" {
		text = blocksText(m.Content.Blocks)
	}
	if m.Origin.User != "" {
		text = m.Origin.User + ": " + text
	}
	return brief(text, 100)
}

// blocksText is what the text blocks of a message say.
func blocksText(blocks []json.RawMessage) string {
	var texts []string
	for _, raw := range blocks {
		var b struct{ Type, Text string }
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		if b.Type != "text" {
			b.Text = "[" + b.Type + "]"
		}
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, " ")
}

// tapDrop takes a waiting message out of the queue.
func (a *Adapter) tapDrop(ctx context.Context, t tap) string {
	m, err := a.o.Core.Cancel(ctx, core.MessageID(t.arg))
	return a.queueTapped(ctx, t, m, err, "Dropped.")
}

// tapNow has a waiting message run before the others, and instead of what runs.
func (a *Adapter) tapNow(ctx context.Context, t tap) string {
	id := core.MessageID(t.arg)
	err := a.o.Core.RunNow(ctx, id)
	m := core.Message{}
	if errors.Is(err, core.ErrNotWaiting) {
		var failed error
		if m, failed = a.o.Core.Message(ctx, id); failed != nil {
			err = failed
		}
	}
	return a.queueTapped(ctx, t, m, err, "It is next; what was running is ended.")
}

// queueTapped refreshes the list and says what became of a tap on it.
func (a *Adapter) queueTapped(ctx context.Context, t tap, m core.Message, err error, done string) string {
	switch {
	case errors.Is(err, core.ErrNotWaiting):
		done = "It waits no more: it is " + string(m.State) + "."
	case errors.Is(err, core.ErrNotFound):
		done = "This message is not known any more."
	case err != nil:
		return brief(a.failed(ctx, "change the queue", err).Text, 200)
	}
	if !t.stale {
		a.change(ctx, "edit:"+t.key, t.place.Key(), edit{Message: t.message, Note: a.queueNote(ctx, t.place)})
	}
	return done
}
