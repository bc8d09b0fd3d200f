package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"bareclaw/core"
)

// pushHeader names a push in a request that is sent on to another process, so that
// it is sent once whichever of them does it.
const pushHeader = "Bareclaw-Push"

// postSend pushes a text or a file out through the adapter that owns the
// channel's prefix. No agent is involved.
func (s *Server) postSend(w *response, r *http.Request) error {
	var p core.Push
	err := s.withBody(w, r, func(dec *jsontext.Decoder) (err error) {
		p, err = decodePush(dec)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.usable(r.Context(), p.Channel); err != nil {
		return err
	}
	if p.ID, err = pushID(w, r); err != nil {
		return err
	}
	s.o.Log.Debug("push", "push", p.ID, "channel", string(p.Channel), "text", core.PromptOf(core.Content{Text: p.Text}).Text)
	w.again = func() []byte { return encodePush(p) }
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer s.untilDrained(func() {
		if !isClosed(s.succession.begun) { // else the adapter leaves it to the successor
			cancel(core.ErrClosed)
		}
	})()
	if err := s.o.Push.Send(ctx, p); err != nil {
		return s.notSent(r, &p, err)
	}
	return show(w, struct {
		Status  string          `json:"status"`
		Channel core.ChannelKey `json:"channel"`
	}{"sent", p.Channel})
}

// pushID returns what the push is known by: to the client, if that has given it a key,
// or to another process already, if that has sent the request on.
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

// notSent makes of an adapter's error what the client is told.
func (s *Server) notSent(r *http.Request, p *core.Push, err error) error {
	switch {
	case errors.Is(err, core.ErrNoPusher):
		return s.noAdapter()
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
		return refuse(http.StatusBadRequest, "bad_text", cmp.Or(text, "The text cannot be sent."))
	case errors.Is(err, core.ErrBadContent):
		return refuse(http.StatusBadRequest, "bad_media",
			cmp.Or(text, "The file cannot be sent: it must be a regular file in a directory that may be sent from."))
	case errors.Is(err, core.ErrNotAllowed):
		return refuse(http.StatusForbidden, "channel_refused", cmp.Or(text, "The adapter does not send to this channel."))
	}
	s.o.Log.Warn("push not delivered", "channel", p.Channel, "err", err)
	if errors.Is(err, core.ErrUnconfirmed) {
		return unconfirmed(text)
	}
	return refuse(http.StatusBadGateway, "delivery_failed", cmp.Or(text, "The adapter could not deliver this; the gateway's log says why."))
}

func unconfirmed(text string) *problem {
	return refuse(http.StatusBadGateway, "delivery_unconfirmed",
		cmp.Or(text, "It is not known whether this was delivered, or will be; look before you send it again."))
}

func (s *Server) noAdapter() error {
	prefixes, err := json.Marshal(s.o.Push.Prefixes())
	if err != nil {
		return fmt.Errorf("encode prefixes: %w", err)
	}
	return refuse(http.StatusNotFound, "no_adapter",
		"No adapter sends to this channel; its name must begin with one of the registered prefixes.").
		member("registered_prefixes", prefixes)
}

// decodePush reads the body of POST /send. It checks the channel first, then
// the media, then that there is anything to send.
func decodePush(dec *jsontext.Decoder) (core.Push, error) {
	var (
		channel *string
		p       core.Push
		text    bool
	)
	err := object(dec, func(name string) (err error) {
		switch name {
		case "channel":
			var s string
			s, err = str(dec, "bad_channel", `"channel"`)
			channel = &s
		case "text":
			p.Text, err = str(dec, "bad_text", `"text"`)
			text = strings.TrimSpace(p.Text) != ""
		case "media":
			p.Media, err = mediaField(dec)
		default:
			err = skip(dec)
		}
		return err
	})
	switch {
	case err != nil:
		return p, err
	case channel == nil:
		return p, badRequest("missing_channel", `Missing "channel" field: name the channel to send to.`)
	}
	if p.Channel, err = parseKey(*channel); err != nil {
		return p, err
	}
	return p, checkPush(&p, text)
}

// encodePush writes the body of a POST /send that asks for the same.
func encodePush(p core.Push) []byte {
	b := quote([]byte(`{"channel":`), p.Channel)
	b = quote(append(b, `,"text":`...), p.Text)
	if p.Media != nil {
		b = quote(append(b, `,"media":{"filePath":`...), p.Media.Path)
		b = append(quote(append(b, `,"type":`...), p.Media.Type), '}')
	}
	return append(b, '}')
}

func checkPush(p *core.Push, text bool) error {
	switch {
	case p.Media != nil && (p.Media.Path == "" || strings.ContainsRune(p.Media.Path, 0)):
		return badRequest("bad_media", `"media.filePath" must be a string: the path of a file.`)
	case p.Media != nil && !mediaTypes(p.Media.Type):
		return badRequest("bad_media", `"media.type" must be photo, document, audio, voice, video, animation, sticker or video_note.`)
	case p.Media == nil && !text:
		return badRequest("missing_text", `Missing "text" or "media" field: send a text that is not blank, or a file.`)
	case hasControls(p.Text):
		return badRequest("bad_text", `"text" must have no control characters other than line breaks and tabs.`)
	}
	return nil
}

func mediaField(dec *jsontext.Decoder) (*core.Media, error) {
	if dec.PeekKind() != '{' {
		if err := skip(dec); err != nil {
			return nil, err
		}
		return nil, badRequest("bad_media", `"media" must be an object {"filePath", "type"}.`)
	}
	var m core.Media
	err := members(dec, func(name string) (err error) {
		switch name {
		case "filePath":
			m.Path, err = str(dec, "bad_media", `"media.filePath"`)
		case "type":
			m.Type, err = str(dec, "bad_media", `"media.type"`)
		default:
			err = skip(dec)
		}
		return err
	})
	return &m, err
}

// mediaTypes reports whether adapters know the type; empty leaves it to them.
func mediaTypes(t string) bool {
	switch t {
	case "", "photo", "document", "audio", "voice", "video", "animation", "sticker", "video_note":
		return true
	default:
		return false
	}
}
