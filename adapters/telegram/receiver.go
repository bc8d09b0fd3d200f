package telegram

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"bareclaw/adapters"
	"bareclaw/adapters/telegram/approvals"
	"bareclaw/adapters/telegram/base"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/commands"
	"bareclaw/adapters/telegram/inbound"
	"bareclaw/adapters/telegram/live"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/internal/mdtext"

	"github.com/go-telegram/bot/models"
)

// A receiver handles updates: submits messages, applies edits, follows moved chats, and
// passes on commands and taps. Its methods are safe for concurrent use.
type receiver struct {
	env      *base.Base
	core     *adapters.Core
	commands *commands.Handler
	live     *live.Views
	out      *outbox.Outbox
	chats    *chatBook
	reader   *inbound.Reader
	bot      func() string // user name of the bot
	sent     senders
}

// joinWithin is how long after a message has been submitted the next one of its sender continues it.
const joinWithin = time.Second

// A sender is a person in a conversation.
type sender struct {
	to   chats.Address
	user int64
}

// senders knows who has just sent a message. Its methods are safe for concurrent use.
type senders struct {
	mu   sync.Mutex
	last map[sender]submitted // for joinWithin at least
}

// A submitted is what a sender has sent last.
type submitted struct {
	at    time.Time
	typed bool // only a typed text
}

// joins reports whether a message that arrived at a time continues an earlier one of its sender.
// Typed texts do not: whoever writes the second may want to see the answer to the first.
func (s *senders) joins(by sender, at time.Time, typed bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.last[by]
	return ok && at.Sub(last.at) <= joinWithin && (!typed || !last.typed)
}

// note notes that a message of a sender is submitted.
func (s *senders) note(by sender, typed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(s.last, func(_ sender, last submitted) bool { return now.Sub(last.at) > joinWithin })
	if s.last == nil {
		s.last = map[sender]submitted{}
	}
	s.last[by] = submitted{now, typed}
}

// isOwn reports whether a message is for the bot itself: messages for the bot are no
// part of a longer text.
func (v *receiver) isOwn(m *models.Message) bool {
	return v.commands.Calls(m) || m.ReplyToMessage != nil && approvals.Below(m.ReplyToMessage, v.env.Bot) != ""
}

// handled records that updates are done. If recording fails, the updates are handled
// again after the next start; the keys of the updates make repetition harmless.
func (v *receiver) handled(ctx context.Context, rs ...*arrival) {
	ids := make([]string, len(rs))
	for i, r := range rs {
		ids[i] = r.ID
	}
	v.env.Records.Error(ctx, "handled updates are not recorded", v.core.Inbox.Handled(ctx, ids...))
}

func (v *receiver) apologize(ctx context.Context, r *arrival) {
	m := r.update.Message
	if m == nil {
		m = r.update.EditedMessage
	}
	if m == nil || !v.chats.obeys(m) {
		return
	}
	v.out.Say(ctx, "panic:"+r.ID, v.env.Moves.Present(chats.AddressOf(m)).Key(), view.Note{
		Text:    "An internal error of the gateway prevented this message from being handled; see its log.",
		ReplyTo: m.ID,
	})
}

func (v *receiver) handleAside(ctx context.Context, r *arrival) {
	switch u := &r.update; {
	case u.CallbackQuery != nil:
		if v.chats.allowed[u.CallbackQuery.From.ID] {
			v.commands.Tapped(ctx, r.ID, u.CallbackQuery)
		}
	case u.Message != nil && v.chats.obeys(u.Message):
		v.command(ctx, v.env.Moves.Present(chats.AddressOf(u.Message)), r)
	case u.StoppedMessageGeneration != nil:
		if s := u.StoppedMessageGeneration; v.chats.allowed[s.Chat.ID] { // a private chat has the id of the user
			v.commands.DraftStopped(ctx, s)
		}
	}
}

// handle handles updates of one conversation, and retries while the ledger cannot be
// written. After an error the updates are handled again at the next start.
func (v *receiver) handle(ctx context.Context, to chats.Address, batch []*arrival) error {
	return records.UntilRecorded(ctx, func() error {
		switch u := &batch[0].update; {
		case u.Message != nil:
			return v.message(ctx, to, batch)
		case u.EditedMessage != nil && v.chats.obeys(u.EditedMessage):
			return v.edited(ctx, to, batch[0])
		}
		return nil
	}, func(err error) {
		v.env.Log.Error("telegram: an update waits for the ledger", "update", batch[0].ID, "channel", string(to.Key()), "err", err)
	})
}

func (v *receiver) message(ctx context.Context, to chats.Address, batch []*arrival) error {
	m := batch[0].update.Message
	to = v.env.Moves.Present(to)
	v.chats.learn(ctx, to, m)
	switch {
	case m.MigrateToChatID != 0:
		return v.migrate(ctx, m.Chat.ID, m.MigrateToChatID)
	case m.MigrateFromChatID != 0:
		return v.migrate(ctx, m.MigrateFromChatID, m.Chat.ID)
	case inbound.IsService(m), chats.ForOtherBot(m.Text, v.bot()), !v.chats.obeys(m):
		return nil
	case len(batch) == 1 && v.command(ctx, to, batch[0]):
		return ctx.Err()
	}
	return v.converse(ctx, to, batch)
}

func (v *receiver) command(ctx context.Context, to chats.Address, r *arrival) bool {
	return v.commands.Handle(ctx, commands.Call{Key: r.ID, Address: to, Message: r.update.Message, ReceivedAt: r.ReceivedAt})
}

func (v *receiver) converse(ctx context.Context, to chats.Address, batch []*arrival) error {
	ms := messagesOf(batch)
	b, err := v.reader.Read(ctx, to, inbound.Gatherer{Own: v.isOwn}.Units(ms)...)
	if err != nil {
		return err
	}
	if text := b.Problems(); text != "" {
		v.out.Say(ctx, "unread:"+batch[0].ID, to.Key(), view.Note{Text: text, ReplyTo: ms[0].ID})
	}
	if b.Empty {
		return ctx.Err()
	}
	s := core.Submission{
		Channel:   to.Key(),
		Adapter:   Name,
		Origin:    v.chats.origin(ctx, to, ms[0]),
		Content:   b.Content,
		SourceKey: batch[0].ID,
		CanAsk:    true,
		Deliver:   true,
	}
	by, typed := sender{to, ms[0].From.ID}, !slices.ContainsFunc(ms, func(m *models.Message) bool { return !inbound.IsTypedText(m) })
	if v.sent.joins(by, batch[0].at, typed) {
		s.Mode = core.Join
	}
	defer v.sent.note(by, typed)
	if len(batch) == 1 {
		t, err := v.offer(ctx, s)
		if err != nil {
			return v.refused(ctx, to, ms[0].ID, s.SourceKey, err)
		}
		v.env.Records.LinkSource(ctx, to.Chat, ms[0].ID, t.Message.ID)
		return ctx.Err()
	}
	return v.submitTogether(ctx, to, batch, s)
}

// submitTogether submits several messages as one. If a killed process has submitted the
// first messages already, the rest is submitted as a separate message.
func (v *receiver) submitTogether(ctx context.Context, to chats.Address, batch []*arrival, s core.Submission) error {
	s.SourceHash = sizeHash(len(batch))
	t, err := v.offer(ctx, s)
	for n := len(batch) - 1; errors.Is(err, core.ErrKeyReused) && n > 0; n-- {
		s.SourceHash = sizeHash(n)
		if t, err = v.offer(ctx, s); err == nil {
			return errors.Join(v.accepted(ctx, to, batch[:n], t), v.converse(ctx, to, batch[n:]))
		}
	}
	if err != nil {
		return v.refused(ctx, to, batch[0].update.Message.ID, s.SourceKey, err)
	}
	return v.accepted(ctx, to, batch, t)
}

// sizeHash distinguishes submissions of n messages from submissions of other sizes under
// the same key. A single message has an empty hash.
func sizeHash(n int) string {
	if n == 1 {
		return ""
	}
	return strconv.Itoa(n)
}

func (v *receiver) accepted(ctx context.Context, to chats.Address, batch []*arrival, t *core.Ticket) error {
	v.env.Records.LinkSource(ctx, to.Chat, batch[0].update.Message.ID, t.Message.ID)
	for _, m := range messagesOf(batch) {
		v.env.Records.LinkMessage(ctx, to.Chat, m.ID, records.Link{Message: t.Message.ID, Part: true, Caption: v.reader.Text(m)})
	}
	return ctx.Err()
}

// offer submits a message, and retries while the submission cannot be recorded.
func (v *receiver) offer(ctx context.Context, s core.Submission) (t *core.Ticket, err error) {
	err = records.UntilRecorded(ctx, func() error {
		v.live.Follow(s.Channel) // ends when nothing is accepted for a while
		t, err = v.core.Lanes.Submit(ctx, s)
		return err
	}, func(err error) {
		v.env.Log.Error("telegram: a message waits to be recorded", "channel", string(s.Channel), "err", err)
	})
	return t, err
}

// refused reports to the sender why a message was not accepted. An ending gateway
// refuses nothing: the next process accepts the received messages.
func (v *receiver) refused(ctx context.Context, to chats.Address, message int, key string, why error) error {
	if ctx.Err() != nil || errors.Is(why, core.ErrClosed) {
		return why
	}
	text := "This message was not accepted: " + mdtext.Literal(why.Error())
	if errors.Is(why, core.ErrQueueFull) {
		text = "This message was not accepted: too many are waiting here already. Send it again when some of them are answered."
	}
	v.out.Say(ctx, "refused:"+key, to.Key(), view.Note{Text: text, ReplyTo: message})
	return ctx.Err()
}

// migrate follows a group that was made a supergroup: the channel continues in the new
// chat. Telegram announces the move in both chats.
func (v *receiver) migrate(ctx context.Context, group, supergroup int64) error {
	if !v.chats.spoken(group) || group == supergroup || v.env.Moves.Present(chats.Address{Chat: group}).Chat == supergroup {
		return nil // no allowed user has written in the group, or the move is known
	}
	chat := chatRecord{Title: records.ValueOf[chatRecord](ctx, v.env.Records, chatKey(group)).Title, Spoke: true}
	err := v.env.Records.Write(ctx, records.Entry{Key: movedKey(group), Value: movedRecord{To: supergroup}}, records.Entry{Key: chatKey(supergroup), Value: chat})
	if err != nil {
		return err
	}
	v.env.Moves.Add(group, supergroup, false)
	v.chats.heard(supergroup)
	return nil
}
