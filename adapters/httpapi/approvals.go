package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
)

type approvals struct{ *shared }

func (a *approvals) list(_ *response, r *http.Request) (any, error) {
	all, err := a.Core.Decider.Approvals(r.Context())
	return api.Approvals{Approvals: each(all, showApproval)}, err
}

func (a *approvals) decide(w *response, r *http.Request, in *api.Decision) (any, error) {
	d, err := newDecision(in)
	if err != nil {
		return nil, err
	}
	id := pathParam(r, "id")
	if in.Answers != nil {
		if d.UpdatedInput, err = a.answeredInput(r.Context(), id, in.Answers); err != nil {
			return nil, err
		}
	}
	decided, err := a.Core.Decider.Decide(r.Context(), id, d)
	shown := showApproval(&decided)
	if d.Always {
		shown.Note = onceNote(&decided)
	}
	if errors.Is(err, core.ErrNotPending) {
		agreed := map[bool]core.ApprovalState{true: core.ApprovalAllowed, false: core.ApprovalDenied}[d.Allow]
		if w.repeated && decided.State == agreed { // the repeated request itself made the decision
			return shown, nil
		}
		p := refuse(http.StatusConflict, api.NotPending, "This approval is no longer pending; it is "+string(decided.State)+".")
		shown.Note = ""
		p.body.Approval = &shown
		return nil, p
	}
	return shown, err
}

// onceNote says why an approval that was to be allowed always was allowed once; empty if it has a rule.
func onceNote(a *core.Approval) string {
	switch {
	case len(core.AlwaysRules(*a)) > 0:
		return ""
	case a.Channel == "":
		return "Allowed once: a call from outside of sessions has no channel to keep a rule for."
	}
	return "Allowed once: no rule can allow this always."
}

func newDecision(in *api.Decision) (core.Decision, error) {
	behavior := in.Behavior
	switch behavior { // the words for an interrupted turn
	case api.Continue:
		behavior = api.Allow
	case api.Drop:
		behavior = api.Deny
	}
	d := core.Decision{Allow: behavior == api.Allow, Message: in.Message, Remember: in.Remember, Always: in.Always}
	if in.UpdatedInput != nil {
		input := jsontext.Value(in.UpdatedInput)
		if err := input.Compact(); err != nil || input.Kind() != '{' {
			return d, badRequest(api.BadUpdatedInput, `"updated_input" must be an object.`)
		}
		d.UpdatedInput = []byte(input)
	}
	if d.Always {
		d.By = adapterName
	}
	switch {
	case behavior != api.Allow && behavior != api.Deny:
		return d, badRequest(api.BadBehavior, `"behavior" must be "allow" or "deny"; for a turn that was cut also "continue" or "drop".`)
	case !d.Allow && d.Remember:
		return d, badRequest(api.BadRemember, `"remember" goes only with "allow".`)
	case !d.Allow && d.Always:
		return d, badRequest(api.BadAlways, `"always" goes only with "allow".`)
	case !d.Allow && d.UpdatedInput != nil:
		return d, badRequest(api.BadUpdatedInput, `"updated_input" goes only with "allow".`)
	case !d.Allow && in.Answers != nil:
		return d, badRequest(api.BadAnswers, `"answers" go only with "allow".`)
	case in.Answers != nil && len(in.Answers) == 0:
		return d, badRequest(api.BadAnswers, `"answers" must answer at least one question.`)
	case d.UpdatedInput != nil && in.Answers != nil:
		return d, badRequest(api.BadAnswers, `Send either "answers" or "updated_input", not both.`)
	case hasControls(d.Message):
		return d, badRequest(api.BadText, `"message" must have no control characters other than line breaks and tabs.`)
	}
	return d, nil
}

// answeredInput returns the input of a pending question with the answers added, or nil
// if the approval is not pending: Decide then returns the error.
func (a *approvals) answeredInput(ctx context.Context, id string, answers map[string]string) ([]byte, error) {
	pending, err := a.Core.Decider.Approvals(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(pending, func(p core.Approval) bool { return p.ID == id })
	if i < 0 {
		return nil, nil
	}
	input, err := core.WithAnswers(&pending[i], answers)
	if err != nil || pending[i].Tool != core.ToolAskUser {
		return nil, badRequest(api.BadAnswers, `"answers" go only with the tool %s.`, core.ToolAskUser)
	}
	return input, nil
}
