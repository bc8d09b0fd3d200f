package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

// pushHeader names a push in a request forwarded to another process, to prevent both
// processes from sending the push.
const pushHeader = "Bareclaw-Push"

// pushes sends texts and files through other adapters, without the agent.
type pushes struct{ *shared }

func (s *pushes) post(w *response, r *http.Request, in *api.SendRequest) (any, error) {
	p, err := newPush(in)
	if err != nil {
		return nil, err
	}
	if err := s.checkChannel(r.Context(), p.Channel); err != nil {
		return nil, err
	}
	if p.ID, err = pushID(w, r); err != nil {
		return nil, err
	}
	s.Log.Debug("push", "push", p.ID, "channel", string(p.Channel), "text", core.PromptOf(core.Content{Text: p.Text}).Text)
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(s.lifecycle, func() {
		if !s.lifecycle.handingOver() { // else the adapter leaves the push to the successor
			cancel(core.ErrClosed)
		}
	})()
	if err := s.Push.Send(ctx, p); err != nil {
		return nil, s.notSent(r, &p, err)
	}
	return api.Sent{Status: "sent", Channel: string(p.Channel)}, nil
}

// pushID returns the id of the push: from the client's key, or from the forwarding
// process.
func pushID(w *response, r *http.Request) (string, error) {
	key, err := idempotencyKey(r)
	if err != nil {
		return "", err
	}
	if key != "" {
		return uuid.NewSHA1(uuid.NameSpaceOID, []byte(key)).String(), nil
	}
	if id, err := uuid.Parse(r.Header.Get(pushHeader)); err == nil && w.repeated {
		return id.String(), nil
	}
	return uuid.NewString(), nil
}

func (s *pushes) notSent(r *http.Request, p *core.Push, err error) error {
	switch {
	case errors.Is(err, core.ErrNoPusher):
		return noAdapter(s.Push.Prefixes())
	case errors.Is(err, core.ErrClosed):
		r.Header.Set(pushHeader, p.ID)
		return err
	case errors.Is(err, core.ErrKeyReused), errors.Is(err, core.ErrStorage), errors.Is(err, core.ErrStorageFull), r.Context().Err() != nil:
		return err
	}
	text := ""
	if told := (*core.PushError)(nil); errors.As(err, &told) {
		text = told.Text
	}
	switch {
	case errors.Is(err, core.ErrBadContent) && p.Media == nil:
		return refuse(http.StatusBadRequest, api.BadText, cmp.Or(text, "The text cannot be sent."))
	case errors.Is(err, core.ErrBadContent):
		return refuse(http.StatusBadRequest, api.BadMedia,
			cmp.Or(text, "The file cannot be sent: it must be a regular file in a directory that may be sent from."))
	case errors.Is(err, core.ErrNotAllowed):
		return refuse(http.StatusForbidden, api.ChannelRefused, cmp.Or(text, "The adapter does not send to this channel."))
	}
	s.Log.Warn("push not delivered", "channel", p.Channel, "err", err)
	if errors.Is(err, core.ErrUnconfirmed) {
		return unconfirmed(text)
	}
	return refuse(http.StatusBadGateway, api.DeliveryFailed, cmp.Or(text, "The adapter could not deliver this; the gateway's log says why."))
}

// noAdapter refuses a push to a channel that leads to nobody.
func noAdapter(prefixes []string) *problem {
	text := "Nobody is behind this channel, so that nothing can be pushed to it; no adapter is set up that could."
	if len(prefixes) > 0 {
		text = "Nobody is behind this channel: texts and files can be pushed to channels whose name begins with " + strings.Join(prefixes, " or ") +
			". To give Claude a file, name its path in the text of a message."
	}
	refusal := refuse(http.StatusNotFound, api.NoAdapter, text)
	refusal.body.Prefixes = prefixes
	return refusal
}

func unconfirmed(text string) *problem {
	return refuse(http.StatusBadGateway, api.DeliveryUnconfirmed,
		cmp.Or(text, "It is not known whether this was delivered, or will be; look before you send it again."))
}

// newPush checks a request: the channel first, then the media, then the text.
func newPush(in *api.SendRequest) (core.Push, error) {
	p := core.Push{Text: in.Text}
	if in.Channel == "" {
		return p, badRequest(api.MissingChannel, `Missing "channel" field: name the channel to send to.`)
	}
	var err error
	if p.Channel, err = parseKey(in.Channel); err != nil {
		return p, err
	}
	if in.Media != nil {
		p.Media = &core.Media{Path: in.Media.Path, Type: in.Media.Type}
	}
	switch {
	case p.Media != nil && (p.Media.Path == "" || strings.ContainsRune(p.Media.Path, 0)):
		return p, badRequest(api.BadMedia, `"media.filePath" must be a string: the path of a file.`)
	case p.Media != nil && !isMediaType(p.Media.Type):
		return p, badRequest(api.BadMedia, `"media.type" must be photo, document, audio, voice, video, animation, sticker or video_note.`)
	case p.Media == nil && strings.TrimSpace(p.Text) == "":
		return p, badRequest(api.MissingText, `Missing "text" or "media" field: send a text that is not blank, or a file.`)
	case hasControls(p.Text):
		return p, badRequest(api.BadText, `"text" must have no control characters other than line breaks and tabs.`)
	}
	return p, nil
}

// isMediaType reports whether adapters know the type; adapters choose a type for an
// empty type.
func isMediaType(t string) bool {
	return slices.Contains([]string{"", "photo", "document", "audio", "voice", "video", "animation", "sticker", "video_note"}, t)
}
