package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"bareclaw/adapters/httpapi/api"
)

// A Mount is a handler of another room, which the API serves behind its checks.
type Mount struct {
	// Routes are all that is served. docs/openapi.yaml has each of them.
	Routes  []api.MountedRoute
	Handler http.Handler
	// Strip is taken off the beginning of the paths that Handler sees.
	Strip string
	// IsStream reports whether a request opens a stream that lasts as long as its client. Such a stream
	// ends when the server drains, and its client opens another one at the successor. Nil: none does.
	IsStream func(*http.Request) bool
}

// opensStream reports whether a request opens a stream of the mount that lasts as long as its client.
func (m *Mount) opensStream(r *http.Request) bool {
	isPath := func(rt api.MountedRoute) bool { return isPathOf(rt.Pattern, r.URL.Path) }
	return m.IsStream != nil && slices.ContainsFunc(m.Routes, isPath) && m.IsStream(r)
}

// isPathOf reports whether a path is one of a pattern, in which {NAME} stands for a part.
func isPathOf(pattern, path string) bool {
	parts := strings.Split(pattern, "/")
	given := strings.Split(path, "/")
	if len(parts) != len(given) {
		return false
	}
	for i, part := range parts {
		if part != given[i] && !strings.HasPrefix(part, "{") {
			return false
		}
	}
	return true
}

// mounted returns the routes of a mount.
func (s *shared) mounted(m *Mount) (all []route) {
	handler := http.StripPrefix(m.Strip, m.Handler)
	serve := func(w *response, r *http.Request) (any, error) {
		if err := bufferBody(w, r); err != nil {
			return nil, err
		}
		if m.opensStream(r) {
			w.body.release() // the handler reads it at once
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(s.lifecycle, cancel)()
			r = r.WithContext(ctx)
		}
		handler.ServeHTTP(w, marked(w, r))
		return nil, nil
	}
	change := func(w *response, r *http.Request) (any, error) {
		if err := s.checkReachOfAll(w); err != nil {
			return nil, err
		}
		return serve(w, r)
	}
	for _, rt := range m.Routes {
		if rt.ChangesAll {
			all = append(all, route{rt.Method, rt.Pattern, socketLimits, change})
		} else {
			all = append(all, route{rt.Method, rt.Pattern, socketServes, serve})
		}
	}
	return all
}

// endAtOnce answers with a stream that has ended. After a hand-over this makes the client go to
// the successor; a forwarded stream would keep the process that forwards it.
func endAtOnce(w *response) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Connection", "close")
	w.WriteHeader(http.StatusOK)
}
