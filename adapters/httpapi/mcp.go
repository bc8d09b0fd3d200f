package httpapi

import (
	"context"
	"net/http"

	"bareclaw/adapters/httpapi/api"
)

// serveMCP passes a request on to the MCP server. Streams without an end, of a GET or of a
// subscription, end when the server drains: the client opens another one at the successor.
func (s *shared) serveMCP(w *response, r *http.Request) (any, error) {
	if r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == "subscriptions/listen" {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(s.lifecycle, cancel)()
		r = r.WithContext(ctx)
	}
	s.MCP.ServeHTTP(w, r)
	return nil, nil
}

// serveToolHost passes a request on to the tool host.
func (s *shared) serveToolHost(w *response, r *http.Request) (any, error) {
	http.StripPrefix(api.PathToolHost, s.ToolHost).ServeHTTP(w, r)
	return nil, nil
}
