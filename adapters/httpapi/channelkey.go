package httpapi

import (
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

// channelKey checks a channel's name. Names are opaque, but they are shown in
// prompts, logs and terminals, so what cannot be seen is not allowed.
func channelKey(name string) (core.ChannelKey, error) {
	if name == "" || len(name) > maxChannelBytes || !utf8.ValidString(name) ||
		strings.TrimSpace(name) != name || strings.ContainsFunc(name, unicode.IsControl) {
		return "", badRequest("bad_channel",
			"A channel is 1 to %d bytes of UTF-8 without control characters and without spaces at its ends.", maxChannelBytes)
	}
	return core.ChannelKey(name), nil
}

// pathKey returns the channel named by the request's path.
func pathKey(r *http.Request) (core.ChannelKey, error) {
	name, err := pathParam(r, "key")
	if err != nil {
		return "", badRequest("bad_channel", "The channel in the path is not properly percent-encoded.")
	}
	return channelKey(name)
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
