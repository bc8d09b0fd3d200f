package httpapi

import (
	"errors"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core"
	"bareclaw/docs"
)

func (s *Server) getOpenAPI(w *response, _ *http.Request) error {
	return w.bytes(http.StatusOK, "application/yaml", docs.OpenAPI())
}

func (s *Server) postRestart(w *response, r *http.Request) error {
	err := s.withOptionalBody(w, r, func(dec *jsontext.Decoder) error {
		return object(dec, func(string) error { return skip(dec) })
	})
	if err != nil {
		return err
	}
	if s.Draining() && !isClosed(s.succession.begun) {
		return shuttingDown()
	}
	if s.o.Restart == nil {
		return refuse(http.StatusServiceUnavailable, "restart_failed", "This gateway cannot restart itself; start it anew by hand.")
	}
	if err := s.o.Restart(r.Context()); err != nil {
		if errors.Is(err, core.ErrClosed) {
			return err
		}
		return refuse(http.StatusServiceUnavailable, "restart_failed", "The gateway goes on as it is: "+err.Error())
	}
	return w.json(http.StatusOK, []byte(`{"status":"restarting"}`+"\n"))
}
