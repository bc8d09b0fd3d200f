package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/core"
	"bareclaw/internal/humanize"

	"github.com/go-telegram/bot/models"
)

// verbEdit runs the edited form of a message; its argument is the key of the edit.
const verbEdit = "edit"

// An editRecord is an edit that came too late to be read with the message.
type editRecord struct {
	Of     core.MessageID  `json:"of,omitempty"` // what was edited; empty: not known
	Update json.RawMessage `json:"update"`       // as it came
}

// edited makes of an edit what there is to be made: a message that waits is changed,
// and of one that is running, or has run, the sender chooses.
func (a *Adapter) edited(ctx context.Context, p chats.Address, r *arrival) error {
	m := r.update.EditedMessage
	p = a.movedTo(p)
	if facts(m) != "" || isService(m) || forOther(m.Text, a.health.name()) {
		return nil // such as a live location, which is edited all the time
	}
	known := a.records.LinkOf(ctx, p.Chat, m.ID)
	if known.Message == "" {
		return a.offerEdit(ctx, p, r, core.Message{})
	}
	old, err := a.o.Core.Message(ctx, known.Message)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	content, err := a.editedContent(ctx, p, known, old, m)
	if err != nil || content.Text == "" && len(content.Blocks) == 0 || sameContent(old.Content, content) {
		return err // nothing was changed that is read, such as the preview of a link
	}
	if old.State == core.Waiting {
		err := a.amend(ctx, old.ID, content)
		if err == nil {
			known.Caption = writtenText(m, a.health.name())
			a.records.LinkMessage(ctx, p.Chat, m.ID, known)
			return ctx.Err()
		}
		if !errors.Is(err, core.ErrNotWaiting) {
			return a.refused(ctx, p, m.ID, core.Submission{SourceKey: r.key}, err)
		}
		if old, err = a.o.Core.Message(ctx, old.ID); err != nil {
			return err
		}
	}
	return a.offerEdit(ctx, p, r, old)
}

// amend changes what a waiting message says, again and again while that cannot be
// recorded.
func (a *Adapter) amend(ctx context.Context, id core.MessageID, c core.Content) error {
	for {
		err := a.o.Core.Amend(ctx, id, c)
		if !tasks.IsStorage(err) || ctx.Err() != nil {
			return err
		}
		tasks.Pause(ctx, tasks.StoragePause)
	}
}

// editedContent is what a message says now. Of an album it is what it said, with the
// one caption changed, and likewise of a text that came in parts.
func (a *Adapter) editedContent(ctx context.Context, p chats.Address, known records.Link, old core.Message, m *models.Message) (core.Content, error) {
	if (m.MediaGroupID != "" || known.Part) && old.ID != "" {
		return recaption(old.Content, known.Caption, writtenText(m, a.health.name())), nil
	}
	b, err := a.build(ctx, p, []*models.Message{m})
	if b.nothing {
		b.content = core.Content{}
	}
	return b.content, err
}

// recaption replaces the words of one caption.
func recaption(c core.Content, before, now string) core.Content {
	replace := func(text string) string {
		if before == "" {
			return strings.TrimSpace(now + "\n" + text)
		}
		return strings.TrimSpace(strings.Replace(text, before, now, 1))
	}
	if len(c.Blocks) == 0 {
		return core.Content{Text: replace(c.Text)}
	}
	var last struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	blocks := slices.Clone(c.Blocks)
	if json.Unmarshal(blocks[len(blocks)-1], &last) != nil || last.Type != "text" {
		return c
	}
	last.Text = replace(last.Text)
	b, err := json.Marshal(last)
	if err != nil {
		return c
	}
	blocks[len(blocks)-1] = b
	return core.Content{Blocks: blocks}
}

func sameContent(a, b core.Content) bool {
	return a.Text == b.Text && slices.EqualFunc(a.Blocks, b.Blocks, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

// isOpen reports whether a message has no outcome yet. One that does not wait then runs,
// or is just about to.
func isOpen(m core.Message) bool { return m.State == core.Waiting || m.State == core.Running }

// offerEdit asks the sender what is to become of an edit that came too late.
func (a *Adapter) offerEdit(ctx context.Context, p chats.Address, r *arrival, of core.Message) error {
	if err := a.records.Put(ctx, records.Edit+r.key, editRecord{Of: of.ID, Update: r.raw}); err != nil {
		return err
	}
	n := Note{ReplyTo: r.update.EditedMessage.ID, Text: "Your edit came too late: this message has been handled already."}
	button := Button{Text: "Run the edited message", Data: verbEdit + ":" + r.key}
	switch {
	case isOpen(of):
		n.Text, button.Text = "Your edit came too late: this message is being handled.", "Stop and run the edited message"
	case of.ID == "":
		n.Text = "You edited a message that is not known here any more."
	}
	n.Buttons = [][]Button{{button}}
	a.say(ctx, "edit:"+r.key, p.Key(), n)
	return ctx.Err()
}

// runEdited submits the edited form of a message, once. It ends the turn that runs
// the message as it was, if it still does.
func (a *Adapter) runEdited(ctx context.Context, t tap) string {
	const gone = "This edit is not known any more. Send it as a new message."
	var e editRecord
	if ok, err := a.records.Get(ctx, records.Edit+t.arg, &e); err != nil || !ok {
		return gone
	}
	u, err := botapi.DecodeUpdate(e.Update)
	if err != nil || u.EditedMessage == nil {
		return gone
	}
	m := u.EditedMessage
	p := a.movedTo(chats.AddressOf(m))
	if !a.inChat(t.place, p.Key()) {
		return gone
	}
	old := core.Message{}
	if e.Of != "" {
		if old, err = a.o.Core.Message(ctx, e.Of); err != nil && !errors.Is(err, core.ErrNotFound) {
			return "That did not work: " + err.Error()
		}
	}
	content, err := a.editedContent(ctx, p, a.records.LinkOf(ctx, p.Chat, m.ID), old, m)
	if err != nil {
		return "That did not work: " + err.Error()
	}
	s := core.Submission{
		Channel: p.Key(), Adapter: Name, Origin: a.origin(p, m), Content: content,
		SourceKey: t.arg + ":run", CanAsk: true, Deliver: true,
	}
	if isOpen(old) {
		s.Mode = core.Interrupt
	}
	ticket, err := a.offer(ctx, s)
	switch {
	case err != nil:
		return humanize.Shorten("That did not work: "+err.Error(), 200)
	case ticket.Existing:
		return "The edited message was taken already."
	}
	a.records.LinkSource(ctx, p.Chat, m.ID, ticket.Message.ID)
	if s.Mode == core.Interrupt {
		return "Stopped. The edited message is next."
	}
	return "The edited message is next."
}
