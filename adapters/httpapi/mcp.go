package httpapi

import (
	"context"
	"net/http"

	"bareclaw/adapters/httpapi/api"
)

// serveMCP passes a request on to the MCP server. A stream without an end ends when the server
// drains: the client opens another one at the successor.
func (s *shared) serveMCP(w *response, r *http.Request) (any, error) {
	if err := bufferBody(w, r); err != nil {
		return nil, err
	}
	if isUnending(r) {
		w.body.release() // the MCP server reads it at once
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(s.lifecycle, cancel)()
		r = r.WithContext(ctx)
	}
	s.MCP.ServeHTTP(w, marked(w, r))
	return nil, nil
}

// isUnending reports whether a request opens a stream that lasts as long as its client: one of an
// MCP session, or a subscription.
func isUnending(r *http.Request) bool {
	return r.URL.Path == api.PathMCP && (r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == "subscriptions/listen")
}

// endAtOnce answers with a stream that has ended. After a hand-over this makes the client go to
// the successor; a forwarded stream would keep the process that forwards it.
func endAtOnce(w *response) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Connection", "close")
	w.WriteHeader(http.StatusOK)
}

// serveToolHost passes a request on to the tool host.
func (s *shared) serveToolHost(w *response, r *http.Request) (any, error) {
	if err := bufferBody(w, r); err != nil {
		return nil, err
	}
	http.StripPrefix(api.PathToolHost, s.ToolHost).ServeHTTP(w, marked(w, r))
	return nil, nil
}

// changeToolHost is serveToolHost for a request that changes the tools of all channels.
func (s *shared) changeToolHost(w *response, r *http.Request) (any, error) {
	if err := s.checkReachOfAll(w); err != nil {
		return nil, err
	}
	return s.serveToolHost(w, r)
}
