package httpapi

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/docs"
)

var methods = []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodPatch, http.MethodPost}

// A handlerFunc answers a request, or returns an error instead of an answer. A reply other
// than nil is a shape of the API, and the answer with the status 200.
type handlerFunc func(w *response, r *http.Request) (reply any, err error)

// A socketAccess says what a route does on the Unix socket. The agent's own commands reach the
// socket, and the agent must not widen what it may do, nor act where others may do more.
type socketAccess int

const (
	_             socketAccess = iota // each route must say it
	socketServes                      // the route reads, or acts within the gateway's own rights
	socketLimits                      // the handler refuses what is beyond those rights
	socketRefuses                     // the whole route is served over TCP alone
)

// A route is a method and a path of the API with a handler. Patterns equal the patterns
// of the OpenAPI document.
type route struct {
	method, pattern string
	onSocket        socketAccess
	handle          handlerFunc
}

func routes(s *shared) []route {
	messages, lookups, streams, channels := &messages{s}, &lookups{s}, &streams{s}, &channels{s}
	approvals, pushes, schedules, admin := &approvals{s}, &pushes{s}, &schedules{s}, &admin{s}
	calls := &commandCalls{s}
	servers := &mountedServers{s}
	watched := &observers{s}
	all := []route{
		{http.MethodPost, api.PathMessage, socketLimits, messages.post},
		{http.MethodPost, "/messages/{id}/retry", socketLimits, s.onMessage(messages.retry)},
		{http.MethodGet, "/messages/{id}", socketServes, s.onMessage(lookups.get)},
		{http.MethodDelete, "/messages/{id}", socketLimits, s.onMessage(lookups.cancel)},
		{http.MethodGet, "/messages/{id}/content", socketServes, s.onMessage(lookups.content)},
		{http.MethodGet, "/messages/{id}/trace", socketServes, s.onMessage(lookups.trace)},
		{http.MethodGet, "/messages/{id}/events", socketServes, s.onMessage(streams.message)},

		{http.MethodGet, api.PathChannels, socketServes, channels.list},
		{http.MethodGet, "/channels/{key}", socketServes, s.onChannel(channels.show)},
		{http.MethodPatch, "/channels/{key}", socketRefuses, s.onChannel(channels.change)},
		{http.MethodDelete, "/channels/{key}", socketLimits, s.onChannel(channels.reset)},
		{http.MethodPost, "/channels/{key}/remove", socketRefuses, s.onChannel(channels.remove)},
		{http.MethodPost, "/channels/{key}/interrupt", socketLimits, s.onChannel(channels.interrupt)},
		{http.MethodPost, "/channels/{key}/commands", socketLimits, s.onChannel(calls.post)},
		{http.MethodGet, "/channels/{key}/messages", socketServes, s.onChannel(channels.messages)},
		{http.MethodGet, "/channels/{key}/events", socketServes, s.onChannel(streams.channel)},
		{http.MethodGet, "/channels/{key}/rules", socketServes, s.onChannel(channels.rules)},
		{http.MethodDelete, "/channels/{key}/rules/{id}", socketServes, s.onChannel(channels.removeRule)},

		{http.MethodGet, api.PathApprovals, socketServes, approvals.list},
		{http.MethodPost, "/approvals/{id}", socketRefuses, withBody(approvals.decide)},
		{http.MethodPost, api.PathSend, socketServes, withBody(pushes.post)},
		{http.MethodPost, api.PathSchedules, socketLimits, withBody(schedules.post)},
		{http.MethodGet, api.PathSchedules, socketServes, schedules.list},
		{http.MethodGet, "/schedules/{id}", socketServes, schedules.onSchedule(schedules.get)},
		{http.MethodDelete, "/schedules/{id}", socketLimits, schedules.onSchedule(schedules.remove)},
		{http.MethodPost, "/schedules/{id}/run", socketLimits, schedules.onSchedule(schedules.run)},
		{http.MethodPost, "/schedules/{id}/pause", socketLimits, schedules.changing(s.Schedules.Pause)},
		{http.MethodPost, "/schedules/{id}/resume", socketLimits, schedules.changing(s.Schedules.Resume)},

		{http.MethodGet, api.PathMounts, socketServes, servers.list},
		{http.MethodPost, "/mounts/{name}/test", socketRefuses, servers.test},

		{http.MethodGet, api.PathObservers, socketServes, watched.list},
		{http.MethodPost, api.PathObservers, socketServes, withBody(watched.post)},
		{http.MethodDelete, "/observers/{id}", socketServes, watched.remove},

		{http.MethodGet, api.PathHealth, socketServes, admin.health},
		{http.MethodGet, api.PathEvents, socketServes, streams.gateway},
		{http.MethodGet, api.PathSettings, socketServes, func(*response, *http.Request) (any, error) { return api.Settings{Settings: s.Settings}, nil }},
		{http.MethodGet, api.PathMetrics, socketServes, admin.metrics},
		{http.MethodPost, api.PathRestart, socketLimits, admin.postRestart},
		{http.MethodGet, api.PathUpgrade, socketServes, func(*response, *http.Request) (any, error) { return s.LastUpgrade() }},
		{http.MethodPost, api.PathUpgrade, socketRefuses, withBody(admin.postUpgrade)},
		{http.MethodGet, api.PathOpenAPI, socketServes, func(w *response, _ *http.Request) (any, error) {
			return nil, w.bytes(http.StatusOK, "application/yaml", docs.OpenAPI())
		}},
	}
	for i := range s.Mounts {
		all = append(all, s.mounted(&s.Mounts[i])...)
	}
	return all
}

func (s *Server) router(all []route) *chi.Mux {
	mux := chi.NewRouter()
	for _, rt := range all {
		h := s.adapt(rt.pattern, jsonOnly(s.whileOpen(rt.guarded())))
		mux.MethodFunc(rt.method, rt.pattern, h)
		if rt.method == http.MethodGet {
			mux.MethodFunc(http.MethodHead, rt.pattern, h) // net/http leaves out the body
		}
	}
	// chi does not report the methods of a path, hence allowed.
	unrouted := s.adapt("other", func(_ *response, r *http.Request) (any, error) {
		if allow := allowed(mux, r); allow != "" {
			p := refuse(http.StatusMethodNotAllowed, api.MethodNotAllowed, "This path does not take this method; it takes "+allow+".")
			return nil, p.with("Allow", allow)
		}
		return nil, refuse(http.StatusNotFound, api.NotFound, "There is nothing at this path; GET /openapi.yaml lists all paths.")
	})
	mux.NotFound(unrouted)
	mux.MethodNotAllowed(unrouted)
	return mux
}

// allowed returns the methods accepted by the request's path, as an Allow header.
func allowed(mux *chi.Mux, r *http.Request) string {
	path := cmp.Or(r.URL.RawPath, r.URL.Path)
	var taken []string
	for _, m := range methods {
		if mux.Match(chi.NewRouteContext(), m, path) {
			taken = append(taken, m)
		}
	}
	return strings.Join(taken, ", ")
}

// adapt makes h a handler of the router. Errors become answers here and nowhere else.
func (s *Server) adapt(pattern string, h handlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		res := w.(*response)
		res.route = pattern
		reply, err := h(res, r)
		if err == nil && reply != nil {
			err = res.show(http.StatusOK, reply)
		}
		if err != nil && !s.handover.answer(res, r, err) {
			fail(res, r, err)
		}
	}
}

// whileOpen returns the handler of a route. While the server drains, the handler refuses all
// changes. During a hand-over the request goes on: core refuses new work, and the successor
// gets the request.
func (s *Server) whileOpen(rt route) handlerFunc {
	if rt.method == http.MethodGet {
		return rt.handle
	}
	return func(w *response, r *http.Request) (any, error) {
		if s.lifecycle.Err() != nil && !s.lifecycle.handingOver() {
			return nil, shuttingDown()
		}
		return rt.handle(w, r)
	}
}

// handler returns the outermost layer: checks, then routes, then a log line and an
// observation for each request.
func (s *Server) handler(router http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := listenerOf(r)
		res := &response{
			ResponseWriter: w,
			log:            s.log,
			bodyLimit:      s.bodyLimit,
			body:           heldBody{budget: &s.bodies},
			route:          "other",
			local:          from == localListener,
			repeated:       (from == localListener || from == innerListener) && r.Header.Get(repeatedHeader) != "",
		}
		defer s.readOn(res, r)
		defer res.body.release()
		r.Body = timed(w, r)
		defer s.finish(res, r, r.Method, time.Now()) // a hand-over changes the method
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		if len(r.TransferEncoding) > 0 {
			// A Content-Length may have stood beside it, which net/http hides: what follows may be what
			// a proxy took for a part of this body (RFC 9112, section 6.1).
			h.Set("Connection", "close")
		}
		if p := s.guard.check(r, from); p != nil {
			res.refused = true
			s.refusals.note(r, p.body.Code)
			fail(res, r, p)
			return
		}
		if from == toolListener { // whose paths are those of the tool host alone
			r.URL.Path, r.URL.RawPath, r.RequestURI = api.PathToolHost+r.URL.Path, "", api.PathToolHost+r.RequestURI
		}
		switch {
		case !s.lifecycle.handingOver():
			router.ServeHTTP(res, r)
		case slices.ContainsFunc(s.mounts, func(m Mount) bool { return m.opensStream(r) }):
			endAtOnce(res)
		default:
			s.handover.proxy(res, r)
		}
	})
}

// finish runs when a request with the method has ended, also after a panic.
func (s *Server) finish(res *response, r *http.Request, method string, start time.Time) {
	cause := recover()
	err, _ := cause.(error)
	if cause != nil && !errors.Is(err, http.ErrAbortHandler) {
		s.log.Error("http handler panicked", "route", res.route, "panic", cause, "stack", string(debug.Stack()))
		if res.status == 0 {
			fail(res, r, internalError())
			cause = nil
		}
	}
	took := time.Since(start)
	s.observe(res, method, took)
	if ctx := r.Context(); !res.refused && s.log.Enabled(ctx, slog.LevelDebug) {
		s.log.DebugContext(context.WithoutCancel(ctx), "http request", "method", method, "route", res.route, "status", res.status,
			"ms", float64(took.Microseconds())/1000, "local", res.local)
	}
	if cause != nil {
		panic(http.ErrAbortHandler) // the reply was half written: cut the connection
	}
}

// fail answers with an error. A disconnected client gets nothing.
func fail(w *response, r *http.Request, err error) {
	var p *problem
	if !errors.As(err, &p) {
		if r.Context().Err() != nil {
			return
		}
		p = explain(w, err)
	}
	if w.status != 0 { // the reply has begun
		return
	}
	for name, value := range p.headers {
		w.Header().Set(name, value)
	}
	if r.ContentLength != 0 && !w.bodyRead {
		// Otherwise net/http reads the rest of the body before the refusal, for as long as the
		// client likes.
		w.Header().Set("Connection", "close")
		w.bodyRefused = true
	}
	if p.plain != "" {
		_ = w.bytes(p.status, "text/plain; charset=utf-8", []byte(p.plain)) // the client may have disconnected
		return
	}
	_ = w.show(p.status, &p.body) // likewise
}

const (
	// lingerTimeout bounds how long a refused body is read on.
	lingerTimeout = 5 * time.Second
	// lingerBytes bounds how much of a refused body is read on.
	lingerBytes = 256 << 20
)

// readOn reads what a client still sends of a refused body, within bounds. The operating system
// resets a connection that is closed with unread bytes, and the reset may discard the answer
// before the client has read the answer.
func (s *Server) readOn(w *response, r *http.Request) {
	if !w.bodyRefused {
		return
	}
	rc := http.NewResponseController(w)
	if rc.Flush() != nil || rc.SetReadDeadline(time.Now().Add(lingerTimeout)) != nil {
		return // the client has disconnected
	}
	defer context.AfterFunc(s.lifecycle, func() { _ = rc.SetReadDeadline(time.Unix(1, 0)) })()
	_, _ = io.CopyN(io.Discard, r.Body, lingerBytes) // the data is not used
}

// pathParam returns a parameter of the route's pattern, as written in the path.
func pathParam(r *http.Request, name string) string { return chi.URLParam(r, name) }
