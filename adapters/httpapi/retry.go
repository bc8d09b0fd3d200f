package httpapi

import (
	"errors"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core"
)

// retryMessage tries a message again that failed or was cancelled, as a new
// message. It answers like POST /message, whose preferences it takes.
func (s *Server) retryMessage(w *response, r *http.Request) error {
	if s.Draining() && !isClosed(s.succession.begun) {
		return shuttingDown()
	}
	err := s.withOptionalBody(w, r, func(dec *jsontext.Decoder) error {
		return object(dec, func(string) error { return skip(dec) })
	})
	if err != nil {
		return err
	}
	sub, msg, err := s.core.Resubmission(r.Context(), pathMessage(r))
	if errors.Is(err, core.ErrNotFailed) {
		return refuse(http.StatusConflict, "not_failed",
			"Only a message that failed or was cancelled can be tried again; this one is "+string(msg.State)+".").
			member("message", appendMessage(nil, &msg, core.Place{}))
	}
	if err != nil {
		return err
	}
	w.again = func() []byte { return nil }
	return s.take(w, r, sub)
}
