package httpapi

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core"
)

func (s *Server) getApprovals(w *response, r *http.Request) error {
	all, err := s.core.Approvals(r.Context())
	if err != nil {
		return err
	}
	return show(w, struct {
		Approvals []approvalShape `json:"approvals"`
	}{showApprovals(all)})
}

// decideApproval is not served on the Unix socket: the agent's own commands
// reach that, and it must not allow itself.
func (s *Server) decideApproval(w *response, r *http.Request) error {
	if w.local {
		return refuse(http.StatusForbidden, "not_on_socket",
			"Approvals are decided over TCP: this socket is open to the agent's own commands, and the agent must not allow itself.")
	}
	if s.Draining() && !isClosed(s.succession.begun) {
		return shuttingDown()
	}
	var v verdict
	err := s.withBody(w, r, func(dec *jsontext.Decoder) (err error) {
		v, err = decodeVerdict(dec)
		return err
	})
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "id")
	if v.answers != nil {
		if v.UpdatedInput, err = s.answered(r, id, v.answers); err != nil {
			return err
		}
	}
	a, err := s.core.Decide(r.Context(), id, v.Decision)
	if errors.Is(err, core.ErrNotPending) {
		if !w.repeated || !v.isThat(&a) {
			return notPending(&a)
		}
		err = nil // it was this request that decided it
	}
	if err != nil {
		return err
	}
	return show(w, showApproval(&a))
}

// isThat reports whether the approval was decided like this.
func (v *verdict) isThat(a *core.Approval) bool {
	return v.Allow && a.State == core.ApprovalAllowed || !v.Allow && a.State == core.ApprovalDenied
}

func notPending(a *core.Approval) error {
	doc, err := json.Marshal(showApproval(a))
	if err != nil {
		return fmt.Errorf("encode approval: %w", err)
	}
	return refuse(http.StatusConflict, "not_pending", "This approval waits no longer; it is "+string(a.State)+".").member("approval", doc)
}

// A verdict is a decision as it was posted.
type verdict struct {
	core.Decision
	answers map[string]string // question → label
}

func decodeVerdict(dec *jsontext.Decoder) (v verdict, err error) {
	behavior := ""
	err = object(dec, func(name string) (err error) {
		switch name {
		case "behavior":
			behavior, err = str(dec, "bad_behavior", `"behavior"`)
		case "message":
			v.Message, err = str(dec, "bad_text", `"message"`)
		case "remember":
			v.Remember, err = boolean(dec, "bad_remember", `"remember"`)
		case "always":
			v.Always, err = boolean(dec, "bad_always", `"always"`)
		case "updated_input":
			var input jsontext.Value
			input, err = value(dec, '{', "bad_updated_input", `"updated_input" must be an object.`)
			v.UpdatedInput = []byte(input)
		case "answers":
			v.answers, err = answersField(dec)
		default:
			err = skip(dec)
		}
		return err
	})
	if err != nil {
		return v, err
	}
	switch behavior { // what one does with a turn that was cut
	case "continue":
		behavior = "allow"
	case "drop":
		behavior = "deny"
	}
	v.Allow = behavior == "allow"
	if v.Always {
		v.By = adapterName
	}
	return v, v.check(behavior)
}

func (v *verdict) check(behavior string) error {
	switch {
	case behavior != "allow" && behavior != "deny":
		return badRequest("bad_behavior", `"behavior" must be "allow" or "deny"; for a turn that was cut also "continue" or "drop".`)
	case !v.Allow && v.Remember:
		return badRequest("bad_remember", `"remember" goes only with "allow".`)
	case !v.Allow && v.Always:
		return badRequest("bad_always", `"always" goes only with "allow".`)
	case !v.Allow && v.UpdatedInput != nil:
		return badRequest("bad_updated_input", `"updated_input" goes only with "allow".`)
	case !v.Allow && v.answers != nil:
		return badRequest("bad_answers", `"answers" go only with "allow".`)
	case v.UpdatedInput != nil && v.answers != nil:
		return badRequest("bad_answers", `Send either "answers" or "updated_input", not both.`)
	case hasControls(v.Message):
		return badRequest("bad_text", `"message" must have no control characters other than line breaks and tabs.`)
	}
	return nil
}

func answersField(dec *jsontext.Decoder) (map[string]string, error) {
	if dec.PeekKind() != '{' {
		if err := skip(dec); err != nil {
			return nil, err
		}
		return nil, badRequest("bad_answers", `"answers" must be an object of questions and the label chosen for each.`)
	}
	answers := map[string]string{}
	err := members(dec, func(question string) (err error) {
		answers[question], err = str(dec, "bad_answers", `Each of "answers"`)
		return err
	})
	if err == nil && len(answers) == 0 {
		err = badRequest("bad_answers", `"answers" must answer at least one question.`)
	}
	return answers, err
}

// answered returns the input of a pending question with the answers in it, or
// nil when the approval is not pending: Decide knows what to say then.
func (s *Server) answered(r *http.Request, id string, answers map[string]string) ([]byte, error) {
	pending, err := s.core.Approvals(r.Context())
	if err != nil {
		return nil, err
	}
	for _, a := range pending {
		if a.ID == id {
			return withAnswers(&a, answers)
		}
	}
	return nil, nil
}

func withAnswers(a *core.Approval, answers map[string]string) ([]byte, error) {
	input := map[string]jsontext.Value{}
	if a.Tool != core.ToolAskUser || json.Unmarshal(a.Input, &input) != nil {
		return nil, badRequest("bad_answers", `"answers" go only with the tool %s.`, core.ToolAskUser)
	}
	chosen, err := json.Marshal(answers, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode answers: %w", err)
	}
	input["answers"] = chosen
	return json.Marshal(input, json.Deterministic(true))
}
