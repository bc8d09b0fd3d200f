package httpapi

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/docs"
)

func (s *Server) getHealth(w *response, _ *http.Request) error {
	return show(w, showHealth(s.o.Health(), s.Draining()))
}

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
	if s.Draining() {
		return shuttingDown()
	}
	if s.o.Restart == nil {
		return refuse(http.StatusServiceUnavailable, "restart_failed", "This gateway cannot restart itself; start it anew by hand.")
	}
	if err := s.o.Restart(); err != nil {
		s.o.Log.Error("restart could not be begun", "err", err)
		return refuse(http.StatusServiceUnavailable, "restart_failed",
			"The restart could not be begun and the gateway goes on as it is; its log says why.")
	}
	return w.json(http.StatusOK, []byte(`{"status":"restarting"}`+"\n"))
}
