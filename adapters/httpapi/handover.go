package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core"
)

// repeatedHeader marks a request forwarded by a process that had already begun the
// request: the requested change may have been made by the request itself.
const repeatedHeader = "Bareclaw-Repeated"

// handover forwards requests to the successor. The successor serves on the same
// listeners; the present process answers its held requests, and late requests on
// kept-alive connections, by calling the successor.
type handover struct {
	*lifecycle

	log     *slog.Logger
	settled chan struct{} // closed when the successor is known
	// Written before settled is closed; nil without a successor.
	tcp, local *httputil.ReverseProxy
	client     *client.Client // of tcp
}

func newHandover(l *lifecycle, log *slog.Logger) *handover {
	return &handover{lifecycle: l, log: log, settled: make(chan struct{})}
}

// settle names the sockets of the successor; empty names mean that no successor exists.
func (h *handover) settle(inner, local string) {
	if inner != "" {
		h.tcp, h.client = h.proxyTo(inner), client.OverSocket(inner)
		h.local = h.proxyTo(local)
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
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			h.log.Warn("request not forwarded to the new process", "err", err)
			fail(w.(*response), r, notForwarded(r))
		},
	}
}

// errHandedOver means that the successor answers the unchanged request.
var errHandedOver = errors.New("left to the next process")

// A heldError means that the message was accepted, and that the successor will know the
// outcome.
type heldError struct {
	message core.Message
}

func (e *heldError) Error() string {
	return fmt.Sprintf("message %s is left to the next process", e.message.ID)
}

// answer answers a request left unfinished because of a hand-over, and reports whether
// the request was answered.
func (h *handover) answer(w *response, r *http.Request, err error) bool {
	if w.status != 0 || !h.handingOver() {
		return false
	}
	held := (*heldError)(nil)
	switch {
	case errors.As(err, &held):
		h.proxyHeld(w, r, held)
	case errors.Is(err, errHandedOver):
		h.proxy(w, r)
	case errors.Is(err, core.ErrClosed):
		r.Header.Set(repeatedHeader, "true")
		if w.resend != nil {
			body := w.resend()
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
		h.proxy(w, r)
	default:
		return false
	}
	return true
}

// proxy forwards a request to the successor.
func (h *handover) proxy(w *response, r *http.Request) {
	if !h.awaitSuccessor(r) {
		return
	}
	proxy := h.tcp
	if w.local {
		proxy = h.local
	}
	if proxy == nil {
		fail(w, r, notForwarded(r))
		return
	}
	header := w.Header()
	clear(header) // the successor sends its own headers
	header.Set("Connection", "close")
	w.bodyRead = true
	proxy.ServeHTTP(w, r)
}

// notForwarded is the answer to a request that could not be forwarded.
func notForwarded(r *http.Request) *problem {
	if r.Header.Get(pushHeader) != "" { // the push may be recorded
		return unconfirmed("")
	}
	return shuttingDown()
}

// awaitSuccessor waits until the successor is known, and reports false if the client
// disconnects before.
func (h *handover) awaitSuccessor(r *http.Request) bool {
	select {
	case <-h.settled:
		return true
	case <-r.Context().Done():
		return false
	}
}

// proxyHeld answers a held request when the successor has the message's outcome. An
// error of writing means that the client has disconnected.
func (h *handover) proxyHeld(w *response, r *http.Request, held *heldError) {
	if !h.awaitSuccessor(r) {
		return
	}
	w.Header().Set("Connection", "close")
	if h.client != nil {
		body, at, err := h.remoteOutcome(r.Context(), held.message.ID)
		switch {
		case err != nil:
		case !at.Until.IsZero():
			_ = answerParked(w, &held.message, at)
			return
		default:
			_ = w.json(http.StatusOK, body)
			return
		}
		if r.Context().Err() != nil {
			return
		}
		h.log.Warn("the new process has not told an outcome", "message", held.message.ID, "err", err)
	}
	w.Header().Set("Retry-After", "1")
	_ = answerAccepted(w, &held.message, core.QueuePosition{})
}

// remoteOutcome returns the successor's rendering of the message once the message has an
// outcome, or the message's place on a channel parked by the successor.
func (h *handover) remoteOutcome(ctx context.Context, id core.MessageID) (body json.RawMessage, at core.QueuePosition, err error) {
	path := messagePath(id) + "?until=" + api.UntilParked + "&wait=" + api.MaxWait.String()
	for {
		if err := h.client.Do(ctx, http.MethodGet, path, nil, &body); err != nil {
			return nil, at, err
		}
		var m api.Message
		if err := json.Unmarshal(body, &m); err != nil {
			return nil, at, fmt.Errorf("read message %s: %w", id, err)
		}
		if m.Final() || !m.Until.IsZero() {
			return body, core.QueuePosition{Why: m.Why, Until: m.Until}, nil
		}
		select { // the successor may itself be handing over
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, at, context.Cause(ctx)
		}
	}
}

// A Reason says why the server drains. The reason is the name of the last event on
// every stream.
type Reason string

// The reasons to drain.
const (
	Restarting   Reason = "restarting"
	ShuttingDown Reason = "shutdown"
)

// lifecycle tracks whether the server serves, drains or hands over.
type lifecycle struct {
	once     sync.Once
	ctx      context.Context // ends when the server drains or hands over
	end      context.CancelFunc
	reason   Reason        // written before ctx ends
	handover chan struct{} // closed before that when another process takes over
}

func newLifecycle() *lifecycle {
	ctx, end := context.WithCancel(context.Background())
	return &lifecycle{ctx: ctx, end: end, handover: make(chan struct{})}
}

// drain begins to drain, and reports whether this call was the first.
func (l *lifecycle) drain(reason Reason) (first bool) {
	l.once.Do(func() {
		l.reason, first = reason, true
		l.end()
	})
	return first
}

func (l *lifecycle) handOver() {
	close(l.handover)
	l.drain(Restarting)
}

func (l *lifecycle) draining() bool    { return l.ctx.Err() != nil }
func (l *lifecycle) handingOver() bool { return isClosed(l.handover) }

// done is closed when the server drains or hands over.
func (l *lifecycle) done() <-chan struct{} { return l.ctx.Done() }

// onDrain calls f when the server drains, unless stop is called before.
func (l *lifecycle) onDrain(f func()) (stop func() bool) { return context.AfterFunc(l.ctx, f) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
