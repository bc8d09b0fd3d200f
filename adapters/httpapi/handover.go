package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

// repeatedHeader marks a request forwarded by a process that had already begun the
// request: the requested change may have been made by the request itself. With the value
// heldMessage the request waits for the outcome of an accepted message, without a limit,
// and in the place of the client that has sent the message.
const (
	repeatedHeader = "Bareclaw-Repeated"
	heldMessage    = "held"
)

// handover forwards requests to the successor. The successor serves on the same
// listeners; the present process answers its held requests, and late requests on
// kept-alive connections, by calling the successor.
type handover struct {
	*lifecycle

	log     *slog.Logger
	settled chan struct{} // closed when the successor is known
	// Written before settled is closed; nil without a successor.
	tcp, local *httputil.ReverseProxy
}

// settle names the sockets of the successor; empty names mean that no successor exists.
func (h *handover) settle(inner, local string) {
	if inner != "" {
		h.tcp, h.local = h.proxyTo(inner), h.proxyTo(local)
	}
	close(h.settled)
}

func (h *handover) proxyTo(socket string) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "localhost"
			r.Out.Host = r.In.Host
		},
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", socket)
			},
			DisableCompression: true,
		},
		FlushInterval: -1, // streams
		ErrorLog:      slog.NewLogLogger(h.log.Handler(), slog.LevelWarn),
		ModifyResponse: func(res *http.Response) error {
			if res.Request.Header.Get(repeatedHeader) == heldMessage && res.StatusCode >= http.StatusBadRequest {
				return errors.New(res.Status) // an error would deny that the message was accepted
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil { // else the client has left
				h.log.Warn("request not forwarded to the new process", "err", err)
			}
			notForwarded(w.(*response), r)
		},
	}
}

// errHandedOver means that the successor answers the request.
var errHandedOver = errors.New("left to the next process")

// leaveHeld makes the request wait at the successor for the outcome of an accepted message.
func leaveHeld(w *response, r *http.Request, m *core.Message) error {
	w.held = m
	r.Method, r.Body, r.ContentLength = http.MethodGet, http.NoBody, 0
	r.URL = &url.URL{Path: messagePath(m.ID), RawQuery: "until=" + api.UntilParked + "&wait=" + api.MaxWait.String()}
	r.Header.Set(repeatedHeader, heldMessage)
	return errHandedOver
}

// answer answers a request left unfinished because of a hand-over, and reports whether
// the request was answered.
func (h *handover) answer(w *response, r *http.Request, err error) bool {
	if w.status != 0 || !h.handingOver() {
		return false
	}
	switch {
	case errors.Is(err, errHandedOver):
	case errors.Is(err, core.ErrClosed):
		r.Header.Set(repeatedHeader, "true")
		if w.resend != nil {
			body := w.resend()
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
	default:
		return false
	}
	h.proxy(w, r)
	return true
}

func (h *handover) proxy(w *response, r *http.Request) {
	select {
	case <-h.settled:
	case <-r.Context().Done():
		return
	}
	header := w.Header()
	header.Set("Connection", "close")
	proxy := h.tcp
	if w.local {
		proxy = h.local
	}
	if proxy == nil {
		notForwarded(w, r)
		return
	}
	for name := range header { // the successor sends its own headers
		if name != "Connection" && name != api.HeaderReplayed {
			header.Del(name)
		}
	}
	w.bodyRead = true
	proxy.ServeHTTP(w, r)
}

func notForwarded(w *response, r *http.Request) {
	switch {
	case w.held != nil:
		w.Header().Set("Retry-After", "1")
		_ = answerAccepted(w, w.held, core.QueuePosition{}) // the client may have disconnected
	case r.Header.Get(pushHeader) != "": // the push may be recorded
		fail(w, r, unconfirmed(""))
	default:
		fail(w, r, shuttingDown())
	}
}

// A Reason says why the server drains. The reason is the name of the last event on
// every stream.
type Reason string

// The reasons to drain. handingOver is Restarting with a successor that answers unfinished
// requests.
const (
	Restarting   Reason = "restarting"
	ShuttingDown Reason = "shutdown"
	handingOver  Reason = "handing over"
)

// Error makes a Reason the cause of the end of a lifecycle.
func (r Reason) Error() string { return string(r) }

// A lifecycle is a context that ends when the server drains or hands over. Its cause is the
// first Reason.
type lifecycle struct {
	context.Context
	drain context.CancelCauseFunc
}

func newLifecycle() *lifecycle {
	ctx, drain := context.WithCancelCause(context.Background())
	return &lifecycle{ctx, drain}
}

func (l *lifecycle) handingOver() bool { return errors.Is(context.Cause(l), handingOver) }

// reason returns the name of the last event on every stream, empty while the server serves.
func (l *lifecycle) reason() Reason {
	if l.handingOver() {
		return Restarting
	}
	r, _ := errors.AsType[Reason](context.Cause(l))
	return r
}
