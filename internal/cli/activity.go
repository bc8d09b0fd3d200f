package cli

import (
	"cmp"
	"fmt"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core"
	"bareclaw/core/progress"
	"bareclaw/sessionhost/claude"
)

// activity folds the stream of a message into the words of a spinner.
type activity struct {
	updates client.Updates
	fold    *progress.Fold
	id      core.MessageID
}

func newActivity() *activity {
	return &activity{fold: progress.New(progress.Options{Show: claude.Show})}
}

// take folds an event and returns the agent's present activity, empty if unknown. The error
// reports an undecodable event.
func (a *activity) take(e client.Event) (string, error) {
	u, ok, err := a.updates.Take(e)
	if err != nil || !ok || e.Kind == api.EventNotice {
		return "", err
	}
	if e.Kind == api.EventAccepted || e.Kind == api.EventQueued {
		a.id = u.Message.ID
	}
	a.fold.Take(u)
	v := a.fold.View()
	text := v.Activity(u.At)
	switch position := a.fold.Position(a.id); {
	case len(v.Approvals) > 0:
		return text + " (bareclaw approvals)", nil
	case v.Phase == progress.Starting && position > 1:
		return fmt.Sprintf("Waiting, number %d in the queue", position), nil
	}
	return text, nil
}

// call names the tool of an approval and the object of the call.
func call(a *api.Approval) string {
	if target := claude.ToolTarget(a.Input); target != "" {
		return a.Tool + ": " + target
	}
	return cmp.Or(a.Tool, "a turn that was cut, to be continued")
}
