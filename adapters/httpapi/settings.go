package httpapi

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core"
)

// changeChannel is PATCH /channels/{key}: a member that is there is set, an empty
// one taken back. It is not served on the Unix socket: the agent's own commands reach
// that, and it must not change what it may do.
func (s *Server) changeChannel(w *response, r *http.Request) error {
	key, err := s.pathKey(r)
	if err != nil {
		return err
	}
	if w.local {
		return refuse(http.StatusForbidden, "not_on_socket",
			"Settings are changed over TCP: this socket is open to the agent's own commands, and the agent must not change what it may do.")
	}
	if s.Draining() && !isClosed(s.succession.begun) {
		return shuttingDown()
	}
	var model, mode *string
	err = s.withBody(w, r, func(dec *jsontext.Decoder) error {
		return object(dec, func(name string) (err error) {
			var text string
			switch name {
			case "model":
				text, err = str(dec, "bad_setting", `"model"`)
				model = &text
			case "permission_mode":
				text, err = str(dec, "bad_setting", `"permission_mode"`)
				mode = &text
			default:
				err = skip(dec)
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	if model == nil && mode == nil {
		return badRequest("bad_setting", `Send "model", "permission_mode" or both; an empty text takes the setting back.`)
	}
	if err := s.core.ChangeSettings(r.Context(), key, model, mode); err != nil {
		return err
	}
	st, err := s.core.Channel(r.Context(), key)
	if err != nil {
		return err
	}
	return s.showChannel(w, r, &st)
}

func (s *Server) channelRules(w *response, r *http.Request) error {
	key, err := s.pathKey(r)
	if err != nil {
		return err
	}
	own, err := s.core.Settings(r.Context(), key)
	if err != nil {
		return err
	}
	if len(own.Rules) == 0 {
		if err := s.mustKnow(r.Context(), key); err != nil {
			return err
		}
	}
	shown := make([]ruleShape, len(own.Rules))
	for i := range own.Rules {
		shown[i] = showRule(&own.Rules[i])
	}
	return show(w, struct {
		Channel core.ChannelKey `json:"channel"`
		Rules   []ruleShape     `json:"rules"`
	}{key, shown})
}

// removeRule takes a rule back. That only has more be asked, so the agent may do it too.
func (s *Server) removeRule(w *response, r *http.Request) error {
	key, err := s.pathKey(r)
	if err != nil {
		return err
	}
	return s.remove(w, r, func(ctx context.Context, id string) error { return s.core.RemoveRule(ctx, key, id) })
}

type ruleShape struct {
	ID        string `json:"id"`
	Rule      string `json:"rule"`
	Tool      string `json:"tool"`
	By        string `json:"by,omitempty"`
	CreatedAt string `json:"created_at"`
}

func showRule(r *core.Rule) ruleShape {
	return ruleShape{ID: r.ID, Rule: r.Rule, Tool: r.Tool, By: r.By, CreatedAt: stamp(r.CreatedAt)}
}
