package proxy

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"bareclaw/observe/capture"
)

// The headers that the app gets, in the form of http.Header's keys.
const (
	requestIDHeader   = "X-Brakit-Request-Id"
	traceparentHeader = "Traceparent"
	tracestateHeader  = "Tracestate"
)

type exchangeKey struct{}

// exchangeOf returns the exchange of a request to the app.
func exchangeOf(ctx context.Context) *exchange {
	e, _ := ctx.Value(exchangeKey{}).(*exchange)
	return e
}

// An exchange is a request and its response while they pass the proxy.
type exchange struct {
	target     *target
	ignored    bool // is not captured
	keepsTrace bool // the client had a trace
	request    capture.Request
	outcome    capture.End // as far as the proxy itself has decided it
	sent       body
	received   body
	hasBody    bool // received is what the client reads
}

// begin names the request, and tells the store that it is on its way.
func (p *Proxy) begin(r *http.Request, t *target) *exchange {
	e := &exchange{
		target:  t,
		ignored: p.store == nil || capture.Ignored(r.URL.Path) || p.store.Off(),
		request: capture.Request{
			Started: time.Now(),
			Method:  r.Method,
			URL:     r.URL.RequestURI(),
			HTTPS:   t.url.Scheme == "https",
		},
	}
	fill(e.request.Span[:])
	e.request.ID = e.request.Span.String()
	e.request.Trace, e.keepsTrace = parseTraceparent(r.Header)
	if !e.keepsTrace {
		fill(e.request.Trace[:8])
		fill(e.request.Trace[8:])
	}
	if e.ignored {
		return e
	}
	e.request.Client = p.client(r)
	e.request.Sent.Header = r.Header
	keep := p.store.Bodies()
	e.sent.keepIn(p.store, keep && capture.IsText(capture.Media(r.Header)))
	e.received.keepIn(p.store, keep)
	p.store.Begin(e.request)
	return e
}

// fill makes a part of an id, of 8 bytes. Zero would name none.
func fill(part []byte) {
	n := rand.Uint64() | 1 //nolint:gosec // ids are told to everybody; they need not be secret
	binary.BigEndian.PutUint64(part, n)
}

// client tells programs apart by where they are and what they call themselves.
func (p *Proxy) client(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	var hash maphash.Hash
	hash.SetSeed(p.seed)
	for _, part := range []string{host, r.Header.Get("X-Forwarded-For"), r.UserAgent()} {
		hash.WriteString(part)
		hash.WriteByte(0)
	}
	var sum capture.SpanID
	binary.BigEndian.PutUint64(sum[:], hash.Sum64())
	return sum.String()
}

// beginResponse notes the header, and lets the body pass the exchange.
func (e *exchange) beginResponse(res *http.Response) {
	e.request.Status = res.StatusCode
	if e.ignored {
		return
	}
	e.request.Received.Header = res.Header
	if res.StatusCode == http.StatusSwitchingProtocols {
		// The body is the connection itself.
		e.outcome = capture.Upgraded
		return
	}
	if !capture.IsText(capture.Media(res.Header)) {
		e.received.drop()
	}
	e.hasBody = true
	e.received.in = res.Body
	res.Body = &e.received
}

// end tells the store how it ended.
func (e *exchange) end(store *capture.Store) {
	if e.ignored {
		return
	}
	r := e.request
	r.Took = time.Since(r.Started)
	r.End = e.outcome
	sent := e.sent.take()
	received := e.received.take()
	if r.End == capture.Pending {
		r.End = e.received.outcome(e.hasBody)
	}
	r.Sent.Size = e.sent.size
	r.Received.Size = e.received.size
	store.End(capture.Raw{
		Request:  r,
		Sent:     sent,
		Received: received,
	})
}

// A body is read through, and its beginning kept.
type body struct {
	in    io.ReadCloser
	store *capture.Store

	mu    sync.Mutex // the transport may read a request after its response has ended
	keep  bool
	kept  []byte
	held  int64
	cut   bool
	size  int64
	isEnd bool  // was read to its end
	err   error // what ended it too early
}

// failed reports whether reading ended too early.
func (b *body) failed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err != nil
}

// hasEnded reports whether all was read.
func (b *body) hasEnded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.isEnd
}

func (b *body) keepIn(store *capture.Store, keep bool) {
	b.store = store
	b.keep = keep
}

// Read reads on, and keeps what there is room for.
func (b *body) Read(p []byte) (int, error) {
	if b.hasEnded() {
		return 0, io.EOF // the server may have closed the body meanwhile
	}
	n, err := b.in.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.size += int64(n)
	if b.keep && n > 0 {
		b.append(p[:n])
	}
	switch {
	case errors.Is(err, io.EOF):
		b.isEnd = true
	case err != nil:
		b.err = err
	}
	return n, err
}

// Close closes what is read.
func (b *body) Close() error { return b.in.Close() }

// append keeps the beginning of the body.
func (b *body) append(p []byte) {
	room := capture.MaxBody - len(b.kept)
	if len(p) > room {
		b.cut = true
		p = p[:room]
	}
	if len(p) == 0 {
		return
	}
	need := int64(len(p))
	if !b.store.Hold(need) {
		b.forget()
		return
	}
	b.held += need
	b.kept = append(b.kept, p...)
}

// drop keeps nothing of the body.
func (b *body) drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget()
}

func (b *body) forget() {
	b.keep = false
	b.kept = nil
	b.cut = false
	if b.held > 0 {
		b.store.Release(b.held)
		b.held = 0
	}
}

// take returns what was kept. Nothing is kept any more.
func (b *body) take() capture.RawBody {
	b.mu.Lock()
	defer b.mu.Unlock()
	raw := capture.RawBody{
		Bytes: b.kept,
		Cut:   b.cut,
		Held:  b.held,
	}
	if b.keep && raw.Bytes == nil {
		raw.Bytes = []byte{}
	}
	b.keep = false
	b.held = 0
	return raw
}

// outcome returns how the response ended, whose body it is. If it has none, the client has not waited for it.
func (b *body) outcome(isBody bool) capture.End {
	switch {
	case !isBody, errors.Is(b.err, context.Canceled):
		return capture.ClientGone
	case b.err != nil:
		return capture.AppFailed
	case b.isEnd:
		return capture.Complete
	}
	return capture.ClientGone
}
