package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"bareclaw/adapters/telegram/base"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/media"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"

	"github.com/google/uuid"
)

const (
	// pushPatience bounds the time of a push; a file gets more time, by size.
	pushPatience = 30 * time.Second
	// settleTime is how long an expired push waits for the attempt in flight.
	settleTime = 500 * time.Millisecond
)

// A pushBody is the content of a push. The path is absolute, since the next process may
// have a different working directory.
type pushBody struct {
	Text  string      `json:"text,omitempty"` // Markdown
	Media *core.Media `json:"media,omitempty"`
}

// A pusher delivers pushes. Its methods are safe for concurrent use.
type pusher struct {
	env        *base.Base
	deliveries outbox.Deliveries
	out        *outbox.Outbox
	uploads    *media.Uploader
	chats      *chatBook
	health     *health
	patience   time.Duration
	closed     context.Context // ends by close
	close      context.CancelFunc
}

func newPusher(e *base.Base, d outbox.Deliveries, out *outbox.Outbox, uploads *media.Uploader, chats *chatBook, h *health) *pusher {
	p := &pusher{env: e, deliveries: d, out: out, uploads: uploads, chats: chats, health: h, patience: pushPatience}
	p.closed, p.close = context.WithCancel(context.Background())
	outbox.Compose(out, outbox.KindPush, p.compose)
	return p
}

// push is the adapter's [core.Pusher]: records the push, and returns when Telegram has
// accepted all parts. When time runs out or the caller leaves, push withdraws the
// delivery; if a part has been sent by then, the push is completed all the same, and the
// error is ErrUnconfirmed. The next process completes pushes left unfinished.
func (p *pusher) push(ctx context.Context, push core.Push) error {
	id := "push:" + push.ID
	if push.ID == "" {
		id += uuid.NewString()
	}
	b, err := p.check(ctx, push)
	if err != nil {
		return err
	}
	if err := p.record(ctx, id, push.Channel, b); err != nil {
		return err
	}
	limit := p.patience
	if b.Media != nil {
		limit += media.UploadTime(b.Media.Path)
	}
	return p.await(ctx, id, limit)
}

func (p *pusher) check(ctx context.Context, push core.Push) (pushBody, error) {
	b := pushBody{Text: push.Text}
	if err := p.chats.checkRecipient(ctx, push.Channel); err != nil {
		return b, err
	}
	if push.Media != nil {
		b.Media = &core.Media{Path: p.uploads.Policy.Absolute(push.Media.Path), Type: push.Media.Type}
		f, _, err := p.uploads.Open(push.Media.Path)
		if err != nil {
			return b, &core.PushError{Kind: core.ErrBadContent, Text: err.Error()}
		}
		_ = f.Close()
	}
	if len(p.parts(b)) == 0 {
		return b, &core.PushError{Kind: core.ErrBadContent, Text: "The text contains nothing that can be displayed."}
	}
	return b, nil
}

// record records a push, unless already recorded: the same push may have been requested
// before, also of an earlier process. A different push under the same id is
// ErrKeyReused. A push of which nothing was sent leaves its id free.
func (p *pusher) record(ctx context.Context, id string, key core.ChannelKey, b pushBody) error {
	if p.closed.Err() != nil {
		return fmt.Errorf("push to %s: %w", key, core.ErrClosed)
	}
	ctx = context.WithoutCancel(ctx) // the caller must learn the fate of the record
	known, err := p.deliveries.Delivery(ctx, id)
	if errors.Is(err, core.ErrNotFound) || err == nil && isUnsent(known) {
		if err := p.out.Redeliver(ctx, core.Delivery{ID: id, Kind: outbox.KindPush, Channel: key}, b); err != nil {
			return err
		}
		known, err = p.deliveries.Delivery(ctx, id) // another caller may have been first
	}
	if err != nil {
		return err
	}
	return samePush(known, key, b)
}

// isUnsent reports whether a push has failed with nothing sent.
func isUnsent(d core.Delivery) bool { return d.State == core.DeliveryFailed && d.Progress == nil }

// samePush fails if the recorded push differs. Paths are not compared: a process with a
// different working directory makes different absolute paths.
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

var (
	errPushClosed = errors.New("the adapter has ended")
	errPushLate   = errors.New("the push took too long")
)

func (p *pusher) await(caller context.Context, id string, limit time.Duration) error {
	ctx, leave := context.WithCancelCause(caller)
	defer leave(nil)
	defer context.AfterFunc(p.closed, func() { leave(errPushClosed) })()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errPushLate)
	defer cancel()
	d, err := p.out.Wait(ctx, id)
	cause := context.Cause(ctx)
	switch {
	case err == nil:
		return pushOutcome(d)
	case cause == nil:
		return err
	case errors.Is(cause, errPushClosed):
		return fmt.Errorf("push %s is left to the next process: %w", id, core.ErrClosed)
	}
	withdrawn := p.out.Withdraw(id)
	if !withdrawn { // an attempt is in flight
		settling, cancel := context.WithTimeout(context.WithoutCancel(caller), settleTime)
		defer cancel()
		if d, err := p.out.Wait(settling, id); err == nil {
			return pushOutcome(d)
		}
		withdrawn = p.out.Withdraw(id)
	}
	switch {
	case !withdrawn:
		return &core.PushError{
			Kind: core.ErrUnconfirmed,
			Text: "Telegram has not confirmed the push in time. All or a part of it may have been sent; the rest will be sent if possible.",
		}
	case !errors.Is(cause, errPushLate):
		return fmt.Errorf("push %s is withdrawn: %w", id, cause)
	}
	text := fmt.Sprintf("Telegram has not taken the push within %s; it will not be sent. %s", limit.Round(time.Second), p.health.report().problem)
	return &core.PushError{Text: strings.TrimSpace(text)}
}

func pushOutcome(d core.Delivery) error {
	if d.State == core.DeliverySent {
		return nil
	}
	if isUnsent(d) {
		return &core.PushError{Text: "The push was not sent: " + d.Error}
	}
	if sent, err := outbox.SentBy(d); err == nil && len(sent) == 0 {
		return &core.PushError{Kind: core.ErrUnconfirmed, Text: "It is not known whether the push was sent: " + d.Error}
	}
	return &core.PushError{Kind: core.ErrUnconfirmed, Text: "Only a part of the push was sent: " + d.Error}
}

// compose returns the parts of a recorded push, if the channel still accepts messages.
func (p *pusher) compose(ctx context.Context, d core.Delivery, b pushBody) ([]outbox.Part, error) {
	if err := p.chats.checkRecipient(ctx, d.Channel); errors.Is(err, core.ErrNotAllowed) {
		return nil, outbox.Undeliverable(err)
	} else if err != nil {
		return nil, err
	}
	return p.parts(b), nil
}

// parts returns the messages of a push: the file with the text as caption, or the file
// and then the text if the caption would be too long.
func (p *pusher) parts(b pushBody) []outbox.Part {
	var text []outbox.Part
	if strings.TrimSpace(b.Text) != "" {
		text = outbox.NoteParts(view.Note{Text: b.Text})
	}
	if b.Media == nil {
		return text
	}
	file := &media.Upload{Uploader: p.uploads, Path: b.Media.Path, Kind: media.KindOf(b.Media)}
	if file.Kind.HasCaption() {
		if pieces := markdown.Render(b.Text).Split(media.MaxCaption); len(pieces) == 0 {
			text = nil
		} else if len(pieces) == 1 {
			file.Caption, text = pieces[0], nil
		}
	}
	return append([]outbox.Part{file}, text...)
}
