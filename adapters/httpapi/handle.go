package httpapi

import (
	"bareclaw/internal/humanize"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"
)

const (
	// maxPooledBytes bounds what a pooled buffer may hold on to.
	maxPooledBytes = 64 << 10
	// lingerTimeout bounds how long a refused body is read on.
	lingerTimeout = 5 * time.Second
	// lingerBytes bounds how much of a refused body is read on.
	lingerBytes = 256 << 20
)

// A handlerFunc answers a request, or returns an error instead of an answer.
type handlerFunc func(w *response, r *http.Request) error

// adapt makes h a handler of the mux. Errors become answers here and nowhere else.
func (s *Server) adapt(pattern string, h handlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		res := w.(*response)
		res.route = pattern
		if err := h(res, r); err != nil && !s.passOn(res, r, err) {
			s.fail(res, r, err)
		}
	}
}

// handler is the outermost layer: checks, then routes, then one log line and
// one observation for each request.
func (s *Server) handler(d door) http.Handler {
	mux := s.routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := clientConnOf(r); c != nil {
			c.answering.Store(true)
		}
		res := s.responses.Get().(*response)
		*res = response{
			ResponseWriter: w, route: "other", local: d == localDoor,
			repeated: d != tcpDoor && r.Header.Get(repeatedHeader) != "",
		}
		defer s.finish(res, r, time.Now())
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		if p := s.guard.check(r, d); p != nil {
			s.logRefusal(r, p)
			s.fail(res, r, p)
			return
		}
		if isClosed(s.succession.begun) {
			s.pass(res, r)
			return
		}
		mux.ServeHTTP(res, r)
	})
}

// finish runs when a request is over, also after a panic.
func (s *Server) finish(res *response, r *http.Request, start time.Time) {
	cause := recover()
	err, _ := cause.(error)
	if cause != nil && !errors.Is(err, http.ErrAbortHandler) {
		s.o.Log.Error("http handler panicked", "route", res.route, "panic", cause, "stack", string(debug.Stack()))
		if res.status == 0 {
			s.fail(res, r, refuse(http.StatusInternalServerError, "internal", "The gateway failed on this request; its log says more."))
			cause = nil
		}
	}
	took := time.Since(start)
	s.metrics.observe(res, r.Method, took)
	if ctx := r.Context(); s.o.Log.Enabled(ctx, slog.LevelDebug) {
		s.o.Log.DebugContext(context.WithoutCancel(ctx), "http request", "method", r.Method, "route", res.route, "status", res.status,
			"ms", float64(took.Microseconds())/1000, "local", res.local)
	}
	*res = response{}
	s.responses.Put(res)
	if cause != nil {
		panic(http.ErrAbortHandler) // the reply was half written: cut the connection
	}
}

func (s *Server) logRefusal(r *http.Request, p *problem) {
	s.o.Log.Info("http request refused", "code", p.code, "method", r.Method, "remote", r.RemoteAddr,
		"host", humanize.Shorten(r.Host, maxQuoted), "origin", humanize.Shorten(r.Header.Get("Origin"), maxQuoted))
}

// fail answers with an error. A client that has gone gets nothing.
func (s *Server) fail(w *response, r *http.Request, err error) {
	var p *problem
	if !errors.As(err, &p) {
		if r.Context().Err() != nil {
			return
		}
		p = s.explain(w, err)
	}
	if w.status != 0 { // the reply has begun: nothing can be said any more
		return
	}
	for name, value := range p.headers {
		w.Header().Set(name, value)
	}
	if r.ContentLength != 0 && !w.bodyRead {
		// Otherwise net/http reads the rest of the body before it sends the
		// refusal, and after it too, for as long as the client likes.
		w.Header().Set("Connection", "close")
		if c := clientConnOf(r); c != nil {
			c.lingerOnClose()
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingerTimeout)) // where there are deadlines
	}
	_ = w.json(p.status, p.body()) // a client that does not listen
}

// A response notes what was answered. Its status is 0 until something was.
type response struct {
	http.ResponseWriter
	route    string
	status   int
	local    bool
	repeated bool          // its request may have been carried out by another process
	bodyRead bool          // to its end
	again    func() []byte // the body, should the request have to be sent on
}

// WriteHeader notes the status.
func (w *response) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write notes that the answer has begun.
func (w *response) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap serves http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// json answers with a JSON document.
func (w *response) json(status int, doc []byte) error {
	return w.bytes(status, "application/json", doc)
}

func (w *response) bytes(status int, contentType string, doc []byte) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(doc)))
	w.WriteHeader(status)
	_, err := w.Write(doc)
	return err
}

// build lends a pooled buffer to fill, sends what fill returns, and takes it back.
func (s *Server) build(w *response, status int, fill func(b []byte) []byte) error {
	buf := s.buffers.Get().(*[]byte)
	doc := fill((*buf)[:0])
	err := w.json(status, doc)
	if cap(doc) <= maxPooledBytes {
		*buf = doc
	}
	s.buffers.Put(buf)
	return err
}

// maxQuoted bounds the texts of clients that errors and log lines repeat, in characters.
const maxQuoted = 200
