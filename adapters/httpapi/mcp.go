package httpapi

import (
	"context"
	"net/http"
)

// serveMCP passes a request on to the MCP server. The stream of a GET ends when the server
// drains: the client opens another one at the successor.
func (s *shared) serveMCP(w *response, r *http.Request) (any, error) {
	if r.Method == http.MethodGet {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(s.lifecycle, cancel)()
		r = r.WithContext(ctx)
	}
	s.MCP.ServeHTTP(w, r)
	return nil, nil
}
