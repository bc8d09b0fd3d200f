package claude

import (
	"fmt"
	"strings"

	"bareclaw/core"
)

// Translate returns the event for a lane. A lane ignores an event returned with an error.
func (e Event) Translate() (core.Event, error) {
	t := core.Event{Type: e.Type, Raw: e.Raw}
	if err := e.translate(&t); err != nil {
		return core.Event{Type: e.Type, Raw: e.Raw}, err
	}
	return t, nil
}

func (e Event) translate(t *core.Event) error {
	switch e.Type {
	case TypeLifecycle:
		l, err := e.Lifecycle()
		t.Kind, t.Turn, t.Phase = core.TurnState, core.TurnID(l.UUID), core.Phase(l.State)
		return err
	case TypeResult:
		r, err := e.Result()
		if r.Code == core.CodeNotLoggedIn { // claude's own words are for a person at its terminal
			r.Text = r.Error
		}
		t.Kind, t.Result = core.Resulted, &r
		return err
	case TypeControlRequest:
		if t.Request = e.PermissionRequest(); t.Request != nil {
			t.Kind = core.Requested
		}
	case TypeCancelRequest:
		id, err := e.CancelRequest()
		t.Kind, t.Request = core.RequestGone, &core.Request{ID: id}
		return err
	case TypeStreamEvent:
		if e.BeginsTool() {
			t.Kind = core.ToolBegun // the call with its input follows
		}
	case TypeAssistant:
		e.translateTool(t)
	case TypeRateLimit:
		if l, _ := e.RateLimit(); l.Rejected {
			t.Kind, t.Until = core.Limited, l.ResetsAt
		}
	case TypeSystem:
		return e.translateSystem(t)
	}
	return nil
}

func (e Event) translateTool(t *core.Event) {
	if !e.BeginsTool() {
		return
	}
	for _, b := range e.content() {
		if b.Type == "tool_use" {
			t.Kind, t.Tool, t.Target = core.ToolBegun, b.Name, ToolTarget(b.Input)
			t.ToolID, t.Timeout = b.ID, toolTimeout(b.Name, b.Input)
		}
	}
}

func (e Event) translateSystem(t *core.Event) error {
	switch e.Subtype {
	case "api_retry":
		r, err := e.APIRetry()
		t.Kind, t.Status = core.Retrying, r.ErrorStatus
		t.Detail = fmt.Sprintf("%s (status %d), attempt %d of %d in %s", strings.ReplaceAll(r.Error, "_", " "), r.ErrorStatus, r.Attempt, r.MaxRetries, r.Delay)
		return err
	case "init":
		i, err := e.Init()
		t.Model = i.Model
		return err
	}
	if n, ok := e.BackgroundTasks(); ok {
		t.Kind, t.Tasks = core.TasksChanged, n
	}
	return nil
}
