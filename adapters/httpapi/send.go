package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core"
)

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
	err = s.o.Push.Send(r.Context(), p)
	switch {
	case errors.Is(err, core.ErrNoPusher):
		return s.noAdapter()
	case errors.Is(err, core.ErrBadContent):
		return badRequest("bad_media", "The file cannot be sent: it must be a regular file in a directory that may be sent from.")
	case err != nil && r.Context().Err() != nil:
		return err
	case err != nil:
		s.o.Log.Warn("push not delivered", "channel", p.Channel, "err", err)
		return refuse(http.StatusBadGateway, "delivery_failed", "The adapter could not deliver this; the gateway's log says why.")
	}
	return show(w, struct {
		Status  string          `json:"status"`
		Channel core.ChannelKey `json:"channel"`
	}{"sent", p.Channel})
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
	if p.Channel, err = channelKey(*channel); err != nil {
		return p, err
	}
	return p, checkPush(&p, text)
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
