package httpapi

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"bareclaw/adapters/httpapi/api"
)

// methods are those that routes have, sorted.
var methods = []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodPatch, http.MethodPost}

// A handlerFunc answers a request, or returns an error instead of an answer.
type handlerFunc func(w *response, r *http.Request) error

// A route is a method and a path of the API with its handler. Patterns are those of
// the OpenAPI document.
type route struct {
	method, pattern string
	handle          handlerFunc
}

// Mount adds a handler for all paths below a prefix, behind the checks of the API. Mount
// must be called before Serve.
func (s *Server) Mount(prefix string, h http.Handler) { s.mounts[prefix] = h }

// router returns the handler of all routes.
func (s *Server) router() *chi.Mux {
	mux := chi.NewRouter()
	for _, rt := range s.routes {
		h := s.adapt(rt.pattern, rt.handle)
		mux.MethodFunc(rt.method, rt.pattern, h)
		if rt.method == http.MethodGet {
			mux.MethodFunc(http.MethodHead, rt.pattern, h) // net/http leaves out the body
		}
	}
	for prefix, h := range s.mounts {
		mux.Mount(prefix, h)
	}
	// chi does not tell which methods a path has, hence allowed.
	unrouted := s.adapt("other", func(_ *response, r *http.Request) error {
		if allow := allowed(mux, r); allow != "" {
			p := refuse(http.StatusMethodNotAllowed, api.MethodNotAllowed, "This path does not take this method; it takes "+allow+".")
			return p.with("Allow", allow)
		}
		return refuse(http.StatusNotFound, api.NotFound, "There is nothing at this path; GET /openapi.yaml lists all paths.")
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
