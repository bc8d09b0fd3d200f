package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"

	"github.com/google/uuid"
)

// kindPush is a delivery that somebody has asked for: Body is a pushBody.
const kindPush core.DeliveryKind = "push"

const (
	// pushPatience is how long a push may take until whoever asked for it is told
	// that it failed; a file gets more, by its size.
	pushPatience = 30 * time.Second
	// settleTime is how long is waited for the end of what is being sent at the
	// moment at which that is over.
	settleTime = time.Second
)

// A pushBody is what is to be sent. Its path is absolute, since the next process may
// be one with another directory.
type pushBody struct {
	Text  string      `json:"text,omitempty"` // Markdown
	Media *core.Media `json:"media,omitempty"`
}

// push is the adapter's [core.Pusher]. It puts the push on record, and returns when
// Telegram has taken all of it. When it takes too long, or the caller leaves, the push
// is taken back; if a part of it has been sent by then it is finished nevertheless,
// and the error is ErrUnconfirmed. What a process that ends leaves undone is done by
// the next.
func (a *Adapter) push(ctx context.Context, p core.Push) error {
	id := "push:" + p.ID
	if p.ID == "" {
		id += uuid.NewString()
	}
	b, err := a.checkPush(ctx, p)
	if err != nil {
		return err
	}
	if err := a.recordPush(ctx, id, p.Channel, b); err != nil {
		return err
	}
	return a.awaitPush(ctx, id, a.patience+b.uploadTime())
}

// checkPush refuses what can be known not to be sent.
func (a *Adapter) checkPush(ctx context.Context, p core.Push) (pushBody, error) {
	b := pushBody{Text: p.Text}
	if err := a.CheckRecipient(ctx, p.Channel); err != nil {
		return b, err
	}
	if p.Media != nil {
		b.Media = &core.Media{Path: a.files.Absolute(p.Media.Path), Type: p.Media.Type}
		f, _, err := a.openMedia(p.Media.Path)
		if err != nil {
			return b, &core.PushError{Kind: core.ErrBadContent, Text: err.Error()}
		}
		_ = f.Close()
	}
	if len(a.pushParts(b)) == 0 {
		return b, &core.PushError{Kind: core.ErrBadContent, Text: "Nothing of this text can be seen."}
	}
	return b, nil
}

// CheckRecipient refuses channels that are not sent to: those of people who are not
// listened to must not be reached by asking the agent either.
func (a *Adapter) CheckRecipient(ctx context.Context, key core.ChannelKey) error {
	to, ok := chats.ParseAddress(key)
	if !ok {
		return &core.PushError{
			Kind: core.ErrNotAllowed,
			Text: fmt.Sprintf("%q is no chat: a channel of Telegram is %s<chat id>, or %s<chat id>-<topic id>.", key, Prefix, Prefix),
		}
	}
	if a.allowed[to.Chat] { // a private chat has the id of its user
		return nil
	}
	var chat chatRecord
	if to.Group() {
		if _, err := a.records.Get(ctx, chatKey(to.Chat), &chat); err != nil {
			return err
		}
	}
	if !chat.Spoke {
		return &core.PushError{
			Kind: core.ErrNotAllowed,
			Text: "This chat is not sent to: it must be that of a user in BARECLAW_ALLOWED_USERS, or a group in which one of them has spoken.",
		}
	}
	return nil
}

// recordPush puts a push on record, unless it is there already: an earlier process has
// done it, or the same push is asked for again. The error is ErrKeyReused for another
// one under the same id.
func (a *Adapter) recordPush(ctx context.Context, id string, key core.ChannelKey, b pushBody) error {
	if a.served.Err() != nil {
		return fmt.Errorf("push to %s: %w", key, core.ErrClosed)
	}
	ctx = context.WithoutCancel(ctx) // what becomes of the record must be known
	known, err := a.o.Core.Delivery(ctx, id)
	if err == nil {
		return samePush(known, key, b)
	}
	if !errors.Is(err, core.ErrNotFound) {
		return err
	}
	body, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("push to %s: %w", key, err)
	}
	return a.o.Core.Deliver(ctx, &core.Delivery{ID: id, Kind: kindPush, Adapter: Name, Channel: key, Body: body})
}

// samePush fails if a push that is on record is another one. Paths are not compared:
// those of a process with another directory differ although they were asked for as one.
func samePush(known core.Delivery, key core.ChannelKey, b pushBody) error {
	var was pushBody
	if err := json.Unmarshal(known.Body, &was); err != nil {
		return fmt.Errorf("read push %s: %w", known.ID, err)
	}
	if known.Channel != key || was.Text != b.Text || (was.Media == nil) != (b.Media == nil) {
		return fmt.Errorf("push %s to %s: %w", known.ID, key, core.ErrKeyReused)
	}
	return nil
}

// awaitPush waits until a push has been sent, or has failed.
func (a *Adapter) awaitPush(caller context.Context, id string, limit time.Duration) error {
	ctx, leave := context.WithCancelCause(caller)
	defer leave(nil)
	defer context.AfterFunc(a.served, func() { leave(errNotServed) })()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errPushLate)
	defer cancel()
	d, err := a.outbox.wait(ctx, id)
	switch cause := context.Cause(ctx); {
	case err == nil:
		return pushOutcome(d)
	case cause == nil:
		return err
	case errors.Is(cause, errNotServed):
		return fmt.Errorf("push %s is left to the next process: %w", id, core.ErrClosed)
	case a.outbox.withdraw(id):
		return a.withdrawn(id, cause, limit)
	}
	if d, err := a.settle(caller, id); err == nil {
		return pushOutcome(d)
	}
	if a.outbox.withdraw(id) { // what was being sent has failed
		return a.withdrawn(id, context.Cause(ctx), limit)
	}
	return &core.PushError{
		Kind: core.ErrUnconfirmed,
		Text: "Telegram has not confirmed it in time. It, or a part of it, may have been sent, and what is missing still will be if possible.",
	}
}

var (
	errNotServed = errors.New("the adapter has ended")
	errPushLate  = errors.New("it took too long")
)

// withdrawn says why a push was taken back of which nothing has been sent.
func (a *Adapter) withdrawn(id string, cause error, limit time.Duration) error {
	if !errors.Is(cause, errPushLate) {
		return fmt.Errorf("push %s is withdrawn: %w", id, cause)
	}
	text := fmt.Sprintf("Telegram has not taken it within %s; it will not be sent any more.", limit.Round(time.Second))
	if h := a.Health(); h.Problem != "" {
		text += " " + h.Problem
	}
	return &core.PushError{Text: text}
}

// settle waits a little longer for a push that is being sent.
func (a *Adapter) settle(ctx context.Context, id string) (core.Delivery, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	return a.outbox.wait(ctx, id)
}

// pushOutcome says what became of a push that has ended.
func pushOutcome(d core.Delivery) error {
	if d.State == core.DeliverySent {
		return nil
	}
	var done sendState
	if len(d.Progress) > 0 && json.Unmarshal(d.Progress, &done) == nil && len(done.Sent) > 0 {
		return &core.PushError{Kind: core.ErrUnconfirmed, Text: "Only a part of it was sent: " + d.Error}
	}
	return &core.PushError{Text: "It was not sent: " + d.Error}
}

// composePush makes the parts of a push that is on record. Whom the gateway listens
// to may have changed since.
func (a *Adapter) composePush(ctx context.Context, d core.Delivery) ([]part, error) {
	var b pushBody
	if err := json.Unmarshal(d.Body, &b); err != nil {
		return nil, fmt.Errorf("%w: %w", errCannotCompose, err)
	}
	if err := a.CheckRecipient(ctx, d.Channel); errors.Is(err, core.ErrNotAllowed) {
		return nil, hopeless{err}
	} else if err != nil {
		return nil, err
	}
	return a.pushParts(b), nil
}

// pushParts makes the messages of a push: the file, with the text as its caption
// where that fits, and else the text after it.
func (a *Adapter) pushParts(b pushBody) []part {
	var text []part
	if strings.TrimSpace(b.Text) != "" {
		text = textParts(b.Text, nil, 0)
	}
	if b.Media == nil {
		return text
	}
	file := &mediaPart{adapter: a, path: b.Media.Path, kind: mediaKindOf(b.Media)}
	if file.kind.hasCaption() {
		if pieces := markdown.Render(b.Text).Split(maxCaption); len(pieces) == 0 {
			text = nil
		} else if len(pieces) == 1 {
			file.caption, text = pieces[0], nil
		}
	}
	return append([]part{file}, text...)
}

func (b pushBody) uploadTime() time.Duration {
	if b.Media == nil {
		return 0
	}
	return uploadTime(b.Media.Path)
}
