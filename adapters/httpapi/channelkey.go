package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"bareclaw/core"
)

const (
	adapterName     = "http"
	defaultChannel  = core.ChannelKey("http")
	maxChannelBytes = 256
)

// parseKey checks the form that every channel's name has. Names are opaque, but they are
// shown in prompts, logs and terminals, so control characters are not allowed.
func parseKey(name string) (core.ChannelKey, error) {
	if name == "" || len(name) > maxChannelBytes || !utf8.ValidString(name) ||
		strings.TrimSpace(name) != name || strings.ContainsFunc(name, unicode.IsControl) {
		return "", badRequest("bad_channel",
			"A channel is 1 to %d bytes of UTF-8 without control characters and without spaces at its ends.", maxChannelBytes)
	}
	return core.ChannelKey(name), nil
}

// channelKey is parseKey for the name of a new channel, which can be told from others by
// looking at it and named by a path.
func channelKey(name string) (core.ChannelKey, error) {
	key, err := parseKey(name)
	if err != nil {
		return "", err
	}
	if key == "." || key == ".." {
		return "", badRequest("bad_channel", `A channel cannot be called "." or "..": clients take these out of the path of a request.`)
	}
	if c, found := firstUnseen(name); found {
		return "", badRequest("bad_channel",
			"The name of a channel cannot contain %U there, which shows nothing or looks like another character.", c)
	}
	return key, nil
}

// firstUnseen returns the first character of a name that cannot be seen, or be told from others.
func firstUnseen(name string) (c rune, found bool) {
	const brailleBlank = '\u2800'
	last := rune(-1)
	for _, c := range name {
		switch {
		case c == '\ufe0e' || c == '\ufe0f': // a symbol as text or in colour, as keyboards send it
			if last < 0 || unicode.IsLetter(last) || unicode.IsSpace(last) {
				return c, true
			}
		case unicode.IsMark(c) && (last < 0 || unicode.IsSpace(last)), // of no letter
			!unicode.IsPrint(c), // which has no space but the common one, and no format characters
			unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector),
			c == brailleBlank:
			return c, true
		}
		last = c
	}
	return 0, false
}

// usable returns an error if the key is not one for a new channel and no channel has it. Those
// that earlier programs let people make stay of use, until they are deleted.
func (s *Server) usable(ctx context.Context, key core.ChannelKey) error {
	_, refusal := channelKey(string(key))
	if refusal == nil {
		return nil
	}
	err := s.mustKnow(ctx, key)
	if errors.Is(err, core.ErrNotFound) {
		return refusal
	}
	return err
}

// pathKey returns the channel named by the request's path.
func (s *Server) pathKey(r *http.Request) (core.ChannelKey, error) {
	name, err := pathParam(r, "key")
	if err != nil {
		return "", badRequest("bad_channel", "The channel in the path is not properly percent-encoded.")
	}
	key, err := parseKey(name)
	if err != nil {
		return "", err
	}
	return key, s.usable(r.Context(), key)
}

// pathParam returns a decoded segment of the path. The router matches the
// encoded path where that says more than the decoded one (such as %2F).
func pathParam(r *http.Request, name string) (string, error) {
	v := chi.URLParam(r, name)
	if r.URL.RawPath == "" {
		return v, nil
	}
	return url.PathUnescape(v)
}
