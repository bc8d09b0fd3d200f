package cli

import (
	"encoding/json"
	"fmt"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core"
	"bareclaw/core/progress"
	"bareclaw/sessionhost/claude"
)

// activity folds the stream of a message into the few words that a spinner shows.
type activity struct {
	updates client.Updates
	fold    *progress.Fold
	id      core.MessageID
}

func newActivity() *activity {
	return &activity{fold: progress.New(progress.Options{Show: claude.Show})}
}

// take folds an event and returns what the agent does now, empty if that is not known. The
// error is that of an event which cannot be decoded.
func (a *activity) take(e client.Event) (string, error) {
	u, ok, err := a.updates.Take(e)
	if err != nil || !ok || e.Kind == api.EventNotice {
		return "", err
	}
	if e.Kind == api.EventAccepted || e.Kind == api.EventQueued {
		a.id = u.Message.ID
	}
	a.fold.Take(u)
	return a.text(u.At), nil
}
func (a *activity) text(now time.Time) string {
	v := a.fold.View()
	text := v.Activity(now)
	switch position := a.fold.Position(a.id); {
	case len(v.Approvals) > 0:
		return text + " (bareclaw approvals)"
	case v.Phase == progress.Starting && position > 1:
		return fmt.Sprintf("Waiting, number %d in the queue", position)
	}
	return text
}

// call names a tool and what it is called with: the command, the file, the pattern.
func call(tool string, input json.RawMessage) string {
	var in map[string]any
	_ = json.Unmarshal(input, &in) // what is no object has no members
	for _, name := range []string{"command", "file_path", "path", "pattern", "url", "query", "skill", "description", "prompt"} {
		if s, ok := in[name].(string); ok && s != "" {
			return tool + ": " + s
		}
	}
	if tool == "" {
		return "a turn that was cut, to be continued"
	}
	return tool
}
