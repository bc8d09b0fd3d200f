package httpapi

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
)

// methods are those that routes have, sorted.
var methods = []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodPatch, http.MethodPost}

const messageRoute = "/message"

// routes returns the table of the API. Patterns are those of the OpenAPI
// document.
func (s *Server) routes() *chi.Mux {
	mux := chi.NewRouter()
	handle := func(method, pattern string, h handlerFunc) {
		mux.MethodFunc(method, pattern, s.adapt(pattern, h))
		if method == http.MethodGet {
			mux.MethodFunc(http.MethodHead, pattern, s.adapt(pattern, h)) // net/http leaves out the body
		}
	}
	handle(http.MethodPost, messageRoute, s.postMessage)
	handle(http.MethodGet, "/messages/{id}", s.getMessage)
	handle(http.MethodDelete, "/messages/{id}", s.cancelMessage)
	handle(http.MethodGet, "/messages/{id}/content", s.getContent)
	handle(http.MethodGet, "/messages/{id}/events", s.messageEvents)
	handle(http.MethodGet, "/messages/{id}/trace", s.getTrace)
	handle(http.MethodPost, "/messages/{id}/retry", s.retryMessage)
	handle(http.MethodPost, "/send", s.postSend)
	handle(http.MethodPost, "/restart", s.postRestart)
	handle(http.MethodGet, "/upgrade", s.getUpgrade)
	handle(http.MethodPost, "/upgrade", s.postUpgrade)
	handle(http.MethodGet, "/channels", s.getChannels)
	handle(http.MethodGet, "/channels/{key}", s.getChannel)
	handle(http.MethodPatch, "/channels/{key}", s.changeChannel)
	handle(http.MethodDelete, "/channels/{key}", s.resetChannel)
	handle(http.MethodGet, "/channels/{key}/rules", s.channelRules)
	handle(http.MethodDelete, "/channels/{key}/rules/{id}", s.removeRule)
	handle(http.MethodPost, "/channels/{key}/interrupt", s.interruptChannel)
	handle(http.MethodGet, "/channels/{key}/events", s.channelEvents)
	handle(http.MethodGet, "/channels/{key}/messages", s.channelMessages)
	handle(http.MethodGet, "/approvals", s.getApprovals)
	handle(http.MethodPost, "/approvals/{id}", s.decideApproval)
	if s.o.Schedules != nil {
		handle(http.MethodPost, "/schedules", s.postSchedule)
		handle(http.MethodGet, "/schedules", s.getSchedules)
		handle(http.MethodGet, "/schedules/{id}", s.getSchedule)
		handle(http.MethodDelete, "/schedules/{id}", s.removeSchedule)
	}
	handle(http.MethodGet, "/health", s.getHealth)
	handle(http.MethodGet, "/metrics", s.getMetrics)
	handle(http.MethodGet, "/openapi.yaml", s.getOpenAPI)

	// chi keeps the methods it knows of a path to itself, hence allowed.
	unrouted := s.adapt("other", func(_ *response, r *http.Request) error {
		if allow := allowed(mux, r); allow != "" {
			p := refuse(http.StatusMethodNotAllowed, "method_not_allowed",
				"This path does not take this method; it takes "+allow+".")
			return p.with("Allow", allow)
		}
		return refuse(http.StatusNotFound, "not_found", "There is nothing at this path; GET /openapi.yaml lists what there is.")
	})
	mux.NotFound(unrouted)
	mux.MethodNotAllowed(unrouted)
	return mux
}

// allowed returns the methods that the request's path takes, as an Allow header.
func allowed(mux *chi.Mux, r *http.Request) string {
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	var taken []string
	for _, m := range methods {
		if mux.Match(chi.NewRouteContext(), m, path) {
			taken = append(taken, m)
		}
	}
	return strings.Join(taken, ", ")
}
