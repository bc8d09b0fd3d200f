package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
)

// describe says what is wrong with an app that does not answer.
func describe(app *url.URL, err error) string {
	var what string
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "Nothing listens at " + app.String() + ". The app is not up yet, or has ended."
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		what = "closed the connection before it answered. It may have crashed, or is restarting."
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		what = "did not answer in time."
	default:
		what = "did not answer as HTTP says: " + err.Error()
	}
	return "The app at " + app.String() + " " + what
}

// writeUnavailable answers that the app cannot, with a page, or with JSON if the client wants that.
func writeUnavailable(w http.ResponseWriter, r *http.Request, what string) {
	const advice = "See what the app prints, and try again when it is up."
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if wantsJSON(r) {
		header.Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadGateway)
		reply := map[string]string{
			"error": what + " " + advice,
		}
		_ = json.NewEncoder(w).Encode(reply) // nobody is left to be told
		return
	}
	header.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = io.WriteString(w, what+"\n\n"+advice+"\n") // nobody is left to be told
}

// wantsJSON reports whether the client asks for JSON, and is not a browser that shows a page.
func wantsJSON(r *http.Request) bool {
	accept := strings.ToLower(r.Header.Get("Accept"))
	return strings.Contains(accept, "json") && !strings.Contains(accept, "text/html")
}
