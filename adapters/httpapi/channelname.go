package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/core/lanes"
)

const (
	adapterName     = "http"
	maxChannelBytes = 256
)

// channelNames checks names of channels.
type channelNames struct{ directory *lanes.Directory }

// parseKey checks the form of every channel's name. Names are opaque, but prompts, logs
// and terminals show names: control characters are not allowed.
func parseKey(name string) (core.ChannelKey, error) {
	if name == "" || len(name) > maxChannelBytes || !utf8.ValidString(name) ||
		strings.TrimSpace(name) != name || strings.ContainsFunc(name, unicode.IsControl) {
		return "", badRequest(api.BadChannel,
			"A channel is 1 to %d bytes of UTF-8 without control characters and without spaces at its ends.", maxChannelBytes)
	}
	return core.ChannelKey(name), nil
}

// channelKey is parseKey for the name of a new channel. People must be able to
// distinguish the name from other names, and a path must be able to contain the name.
func channelKey(name string) (core.ChannelKey, error) {
	key, err := parseKey(name)
	if err != nil {
		return "", err
	}
	if key == "." || key == ".." {
		return "", badRequest(api.BadChannel, `A channel cannot be called "." or "..": clients remove these from the path of a request.`)
	}
	if c, found := firstUnseen(name); found {
		return "", badRequest(api.BadChannel,
			"The name of a channel cannot contain %U there, which shows nothing or looks like another character.", c)
	}
	return key, nil
}

// firstUnseen returns the first character of a name that is invisible or looks like
// another character.
func firstUnseen(name string) (c rune, found bool) {
	const brailleBlank = '\u2800'
	last := rune(-1)
	for _, c := range name {
		switch {
		case c == '\ufe0e' || c == '\ufe0f': // a symbol as text or in colour, as sent by keyboards
			if last < 0 || unicode.IsLetter(last) || unicode.IsSpace(last) {
				return c, true
			}
		case unicode.IsMark(c) && (last < 0 || unicode.IsSpace(last)), // of no letter
			!unicode.IsPrint(c), // IsPrint accepts only the common space, and no format characters
			unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector),
			c == brailleBlank:
			return c, true
		}
		last = c
	}
	return 0, false
}

// check refuses an invalid key for a new channel, unless a channel with the key exists.
// Channels accepted by earlier programs remain usable until deleted.
func (n channelNames) check(ctx context.Context, key core.ChannelKey) error {
	_, refusal := channelKey(string(key))
	if refusal == nil {
		return nil
	}
	err := n.mustExist(ctx, key)
	if errors.Is(err, core.ErrNotFound) {
		return refusal
	}
	return err
}

// mustExist returns ErrNotFound if no channel has the key.
func (n channelNames) mustExist(ctx context.Context, key core.ChannelKey) error {
	_, err := n.directory.Channel(ctx, key)
	return err
}

// onChannel returns a handler that is called with the channel in the request's path.
func (n channelNames) onChannel(h func(w *response, r *http.Request, key core.ChannelKey) (any, error)) handlerFunc {
	return func(w *response, r *http.Request) (any, error) {
		key, err := n.fromPath(r)
		if err != nil {
			return nil, err
		}
		return h(w, r, key)
	}
}

// fromPath returns the channel in the request's path. The router matches the encoded
// path if the decoded path differs, for example with %2F.
func (n channelNames) fromPath(r *http.Request) (core.ChannelKey, error) {
	name := pathParam(r, "key")
	if r.URL.RawPath != "" {
		var err error
		if name, err = url.PathUnescape(name); err != nil {
			return "", badRequest(api.BadChannel, "The channel in the path is not properly percent-encoded.")
		}
	}
	key, err := parseKey(name)
	if err != nil {
		return "", err
	}
	return key, n.check(r.Context(), key)
}
