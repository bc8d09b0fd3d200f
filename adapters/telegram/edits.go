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
	"bareclaw/adapters/telegram/commands"
	"bareclaw/adapters/telegram/inbound"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

type editRecord struct {
	Of     core.MessageID  `json:"of,omitempty"` // edited message; empty: unknown
	Update json.RawMessage `json:"update"`       // as received
}

// edited handles an edit. A waiting message changes; for a running or finished message,
// the sender chooses.
func (v *receiver) edited(ctx context.Context, to chats.Address, r *arrival) error {
	m := r.update.EditedMessage
	to = v.env.Moves.Present(to)
	if inbound.Facts(m) != "" || inbound.IsService(m) || chats.ForOtherBot(m.Text, v.bot()) {
		return nil // a live location, for example, is edited all the time
	}
	link := v.env.Records.LinkOf(ctx, to.Chat, m.ID)
	if link.Message == "" {
		return v.offerEdit(ctx, to, r, core.Message{})
	}
	old, err := v.core.Messages.Message(ctx, link.Message)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	content, err := v.editedContent(ctx, to, link, old, m)
	if wrong, ok := errors.AsType[*commands.CallError](err); ok {
		v.out.Say(ctx, "refused:"+r.ID, to.Key(), view.Note{Text: "Your edit was not accepted. " + wrong.Answer, ReplyTo: m.ID})
		return ctx.Err()
	}
	if err != nil || content.Text == "" && len(content.Blocks) == 0 || sameContent(old.Content, content) {
		return err // the content is unchanged, as when a link preview is added
	}
	if old.State == core.Waiting {
		err := records.UntilRecorded(ctx, func() error { return v.core.Lanes.Amend(ctx, old.ID, content) }, nil)
		if err == nil {
			link.Caption = v.reader.Text(m)
			v.env.Records.LinkMessage(ctx, to.Chat, m.ID, link)
			return ctx.Err()
		}
		if !errors.Is(err, core.ErrNotWaiting) {
			return v.refused(ctx, to, m.ID, r.ID, err)
		}
		if old, err = v.core.Messages.Message(ctx, old.ID); err != nil {
			return err
		}
	}
	return v.offerEdit(ctx, to, r, old)
}

// editedContent returns the content after an edit. If several messages were submitted
// together, editedContent replaces only the text of the edited message. The error is a *commands.CallError for a wrong
// call of a prompt.
func (v *receiver) editedContent(ctx context.Context, to chats.Address, link records.Link, old core.Message, m *models.Message) (core.Content, error) {
	if (m.MediaGroupID != "" || link.Part) && old.ID != "" {
		return recaption(old.Content, link.Caption, v.reader.Text(m)), nil
	}
	m, err := v.commands.Prompted(ctx, to, m)
	if err != nil {
		return core.Content{}, err
	}
	b, err := v.reader.Read(ctx, to, []*models.Message{m})
	if b.Empty {
		return core.Content{}, err
	}
	return b.Content, err
}

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
	var last struct{ Type, Text string }
	blocks := slices.Clone(c.Blocks)
	if json.Unmarshal(blocks[len(blocks)-1], &last) != nil || last.Type != "text" {
		return c
	}
	b, err := inbound.TextBlock(replace(last.Text))
	if err != nil {
		return c
	}
	blocks[len(blocks)-1] = b
	return core.Content{Blocks: blocks}
}

func sameContent(a, b core.Content) bool {
	return a.Text == b.Text && slices.EqualFunc(a.Blocks, b.Blocks, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

func isOpen(m core.Message) bool { return m.State == core.Waiting || m.State == core.Running }

func (v *receiver) offerEdit(ctx context.Context, to chats.Address, r *arrival, of core.Message) error {
	if err := v.env.Records.Put(ctx, records.RecordEdit+r.ID, editRecord{Of: of.ID, Update: r.Body}); err != nil {
		return err
	}
	n := view.Note{ReplyTo: r.update.EditedMessage.ID, Text: "Your edit came too late: this message has already been handled."}
	button := view.Button{Text: "Run the edited message", Data: "edit:" + r.ID}
	switch {
	case isOpen(of):
		n.Text, button.Text = "Your edit came too late: this message is being handled.", "Stop and run the edited message"
	case of.ID == "":
		n.Text = "The message that you edited is no longer known here."
	}
	n.Buttons = [][]view.Button{{button}}
	v.out.Say(ctx, "edit:"+r.ID, to.Key(), n)
	return ctx.Err()
}

// runEdited submits the edited form of a message, once. If the original message still
// runs, runEdited stops the turn.
func (v *receiver) runEdited(ctx context.Context, t chats.Tap) string {
	const gone = "This edit is no longer known. Send it as a new message."
	var e editRecord
	if ok, err := v.env.Records.Get(ctx, records.RecordEdit+t.Arg, &e); err != nil || !ok {
		return gone
	}
	u, err := botapi.DecodeUpdate(e.Update)
	if err != nil || u.EditedMessage == nil {
		return gone
	}
	m := u.EditedMessage
	to := v.env.Moves.Present(chats.AddressOf(m))
	if !v.env.Moves.InChat(t.Address, to.Key()) {
		return gone
	}
	old := core.Message{}
	if e.Of != "" {
		if old, err = v.core.Messages.Message(ctx, e.Of); err != nil && !errors.Is(err, core.ErrNotFound) {
			return "That did not work: " + err.Error()
		}
	}
	content, err := v.editedContent(ctx, to, v.env.Records.LinkOf(ctx, to.Chat, m.ID), old, m)
	if err != nil {
		return "That did not work: " + err.Error()
	}
	s := core.Submission{
		Channel:   to.Key(),
		Adapter:   Name,
		Origin:    v.chats.origin(ctx, to, m),
		Content:   content,
		SourceKey: t.Arg + ":run",
		CanAsk:    true,
		Deliver:   true,
	}
	if isOpen(old) {
		s.Mode = core.Interrupt
	}
	ticket, err := v.offer(ctx, s)
	switch {
	case err != nil:
		return "That did not work: " + err.Error()
	case ticket.Existing:
		return "The edited message was already accepted."
	}
	v.env.Records.LinkSource(ctx, to.Chat, m.ID, ticket.Message.ID)
	if s.Mode == core.Interrupt {
		return "Stopped. The edited message is next."
	}
	return "The edited message is next."
}
