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
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"
)

// maxAgainBytes bounds the bodies that are kept for the case that they have to be
// sent on. Messages are not kept: they can be written down again.
const maxAgainBytes = 64 << 10

// repeatedHeader marks a request that another process has begun to carry out before
// it had to send it on: what it asks for may have been done by itself.
const repeatedHeader = "Bareclaw-Repeated"

// A succession is the handing over of a server's work to another process, which
// serves on the same listeners. This one answers all that it still holds, and
// what comes late on kept-alive connections, by asking the other.
type succession struct {
	begun   chan struct{} // closed when it begins
	settled chan struct{} // closed when it is known who serves
	// Written before settled is closed; nil when nobody serves.
	tcp, local *httputil.ReverseProxy
	client     *http.Client // of tcp
}

// HandOver begins a succession: nothing more is accepted here, streams end with
// the reason Restarting, and every request waits for Forward. It does not block.
// What core still has to say to requests that are held may come afterwards.
func (s *Server) HandOver() {
	close(s.succession.begun)
	s.drain.once.Do(func() {
		s.drain.reason = Restarting
		close(s.drain.done)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		_ = l.Close() // others hold the socket
	}
}

// Forward names the Unix sockets of the successor, on which it serves what comes
// from TCP and from the local socket. Empty names say that there is none: then
// what is held is answered as Drain would.
func (s *Server) Forward(inner, local string) {
	if inner != "" {
		s.succession.tcp, s.succession.client = s.proxyTo(inner), &http.Client{Transport: unixTransport(inner)}
		s.succession.local = s.proxyTo(local)
	}
	close(s.succession.settled)
}

func (s *Server) proxyTo(socket string) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "localhost"
			r.Out.Host = r.In.Host
		},
		Transport:     unixTransport(socket),
		FlushInterval: -1, // streams
		ErrorLog:      slog.NewLogLogger(s.o.Log.Handler(), slog.LevelWarn),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			s.o.Log.Warn("request not sent on to the new process", "err", err)
			s.fail(w.(*response), r, notPassed(r))
		},
	}
}

func unixTransport(socket string) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
		DisableCompression: true,
	}
}

// A heldError says that the message was accepted, and that its outcome will be
// known to the successor.
type heldError struct {
	message core.Message
}

func (e *heldError) Error() string {
	return fmt.Sprintf("message %s is left to the next process", e.message.ID)
}

// passOn answers a request that this server could not finish, if a succession is
// the cause, and reports whether it did.
func (s *Server) passOn(w *response, r *http.Request, err error) bool {
	if w.status != 0 || !isClosed(s.succession.begun) {
		return false
	}
	held := (*heldError)(nil)
	switch {
	case errors.As(err, &held):
		s.passHeld(w, r, held)
	case errors.Is(err, core.ErrClosed):
		r.Header.Set(repeatedHeader, "true")
		if w.again != nil {
			body := w.again()
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
		s.pass(w, r)
	default:
		return false
	}
	return true
}

// pass sends a request on to the successor.
func (s *Server) pass(w *response, r *http.Request) {
	if !s.awaitSuccessor(r) {
		return
	}
	proxy := s.succession.tcp
	if w.local {
		proxy = s.succession.local
	}
	if proxy == nil {
		s.fail(w, r, notPassed(r))
		return
	}
	h := w.Header()
	clear(h) // the successor's are sent
	h.Set("Connection", "close")
	w.bodyRead = true
	proxy.ServeHTTP(w, r)
}

// notPassed is what a client is told whose request could not be sent on.
func notPassed(r *http.Request) *problem {
	if r.Header.Get(pushHeader) != "" { // it is on record, perhaps
		return unconfirmed("")
	}
	return shuttingDown()
}

// awaitSuccessor waits until it is known who serves, or the client has gone.
func (s *Server) awaitSuccessor(r *http.Request) bool {
	select {
	case <-s.succession.settled:
		return true
	case <-r.Context().Done():
		return false
	}
}

// passHeld answers a held request when the successor has the message's outcome.
func (s *Server) passHeld(w *response, r *http.Request, held *heldError) {
	if !s.awaitSuccessor(r) {
		return
	}
	w.Header().Set("Connection", "close")
	if s.succession.client != nil {
		body, at, err := s.outcomeThere(r.Context(), held.message.ID)
		switch {
		case err != nil:
		case !at.Until.IsZero():
			_ = s.parked(w, &ticket{message: held.message, place: func() core.Place { return at }}) // a client that does not listen
			return
		default:
			_ = w.json(http.StatusOK, body) // likewise
			return
		}
		if r.Context().Err() != nil {
			return
		}
		s.o.Log.Warn("outcome not had from the new process", "message", held.message.ID, "err", err)
	}
	w.Header().Set("Retry-After", "1")
	_ = s.later(w, &held.message, core.Place{}) // likewise
}

// outcomeThere returns the message as the successor shows it once it has its
// outcome, or where it waits on a channel that is parked there.
func (s *Server) outcomeThere(ctx context.Context, id core.MessageID) ([]byte, core.Place, error) {
	for {
		body, err := s.askThere(ctx, location(id)+"?until="+untilParked+"&wait="+maxWait.String())
		if err != nil {
			return nil, core.Place{}, err
		}
		var m struct {
			State core.State `json:"state"`
			Why   string     `json:"why"`
			Until time.Time  `json:"until"`
		}
		if err := json.Unmarshal(body, &m); err != nil {
			return nil, core.Place{}, fmt.Errorf("read message %s: %w", id, err)
		}
		if m.State.Final() || !m.Until.IsZero() {
			return body, core.Place{Why: m.Why, Until: m.Until}, nil
		}
		select { // it may be handing over in turn
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, core.Place{}, context.Cause(ctx)
		}
	}
}

func (s *Server) askThere(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		return nil, err
	}
	res, err := s.succession.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, humanize.Shorten(string(body), maxQuoted))
	}
	return body, err
}
