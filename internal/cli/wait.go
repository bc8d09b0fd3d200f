package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core"
	"bareclaw/core/progress"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/term"
	"bareclaw/sessionhost/claude"
)

// awayPatience is how long the gateway may be away while an answer is waited for. A
// service manager starts another process within seconds.
const awayPatience = time.Minute

// errTimeout ends the waiting for an answer.
var errTimeout = errors.New("no answer in time")

// An exchange is a message to send, and how to wait for the outcome.
type exchange struct {
	gateway *client.Client
	path    string // route of the request
	body    any
	key     string        // makes the request safe to repeat; empty where the path is
	timeout time.Duration // 0: any time
	json    bool
}

// sendAndWait sends a message, waits for the outcome and prints the outcome. On a terminal
// the agent's activity is shown meanwhile.
func sendAndWait(c *command.Context, x exchange) error {
	ctx := c.Context
	if x.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, x.timeout, errTimeout)
		defer cancel()
	}
	wheel := command.StartSpinner(c.Err, "Sending")
	defer wheel.End()
	shown := newActivity()
	f := &client.Following{
		Client: x.gateway, Patience: awayPatience,
		Event: func(e client.Event) { shown.watch(wheel, e) },
		Away:  func(error) { wheel.Show("The gateway is away; waiting for it") },
	}
	raw, err := f.Post(ctx, x.path, x.body, x.key)
	wheel.End()
	if err != nil {
		return reportAbandoned(c, f.Message(), x.timeout, err)
	}
	var outcome api.Message
	if err := json.Unmarshal(raw, &outcome); err != nil {
		return fmt.Errorf("understand the outcome: %w", err)
	}
	return printOutcome(c, x, raw, outcome)
}

// reportAbandoned explains the state of a message after the wait was given up.
func reportAbandoned(c *command.Context, id string, timeout time.Duration, err error) error {
	_, refused := errors.AsType[*client.Error](err)
	if refused || id == "" && !errors.Is(err, context.Canceled) && !errors.Is(err, errTimeout) {
		return err
	}
	if errors.Is(err, errTimeout) {
		err = fmt.Errorf("no answer within %s", timeout)
	}
	if id == "" {
		c.Tellf("It is not known whether the message was accepted: `bareclaw channels` shows what waits and runs.")
		return err
	}
	c.Tellf("The message goes on without you. See what becomes of it: bareclaw trace %s", term.SafeLine(id))
	return err
}

func printOutcome(c *command.Context, x exchange, raw json.RawMessage, m api.Message) error {
	if x.json {
		if err := c.PrintJSON(raw); err != nil {
			return err
		}
		if m.IsError {
			return command.ErrFailed
		}
		return nil
	}
	for _, n := range m.Notices {
		c.Tellf("bareclaw: %s", term.SafeLine(n.Text))
	}
	if m.IsError {
		c.Tellf("bareclaw: %s", strings.TrimSpace(term.Safe(cmp.Or(m.Text, m.Error, "The message "+m.State+"."))))
		return command.ErrFailed
	}
	answer := m.Text
	if m.Coalesced && answer == "" && m.Into != "" {
		var carrier api.Message
		if err := x.gateway.Do(c.Context, http.MethodGet, api.MessagePath(m.Into), nil, &carrier); err != nil {
			return err
		}
		c.Tellf("bareclaw: answered together with a later message, %s", term.SafeLine(m.Into))
		answer = carrier.Text
	}
	if answer == "" {
		return nil
	}
	if term.IsTerminal(c.Out) {
		answer = term.Safe(answer)
	}
	return c.PrintLines(strings.TrimRight(answer, "\n")) // unchanged for a program
}

// activity folds the stream of a message into the words of a spinner.
type activity struct {
	updates client.Updates
	fold    *progress.Fold
	id      core.MessageID
}

func newActivity() *activity {
	return &activity{fold: progress.New(progress.Options{Show: claude.Show})}
}

// watch shows an event of the stream.
func (a *activity) watch(wheel *command.Spinner, e client.Event) {
	u, ok, err := a.updates.Take(e)
	switch {
	case err != nil:
		wheel.Say("bareclaw: an event of the gateway could not be understood: " + term.SafeLine(e.Kind))
	case !ok || u.Kind == api.NoticeGap || u.Kind == api.NoticeDropped: // a spinner shows no past events
	case e.Kind == api.EventNotice:
		wheel.Say("bareclaw: " + term.SafeLine(u.Detail))
	default:
		if at := a.take(u); at != "" {
			wheel.Show(at)
		}
	}
}

// take folds an update and returns the agent's present activity, empty if unknown.
func (a *activity) take(u core.Update) string {
	if u.Kind == core.UpdateAccepted || u.Kind == core.UpdateQueued {
		a.id = u.Message.ID
	}
	a.fold.Take(u)
	v := a.fold.View()
	text := v.Activity(u.At)
	switch position := a.fold.Position(a.id); {
	case len(v.Approvals) > 0:
		return text + " (bareclaw approvals)"
	case v.Phase == progress.Starting && position > 1:
		return fmt.Sprintf("Waiting, number %d in the queue", position)
	}
	return text
}

// call names the tool of an approval and the object of the call.
func call(a *api.Approval) string {
	if target := claude.ToolTarget(a.Input); target != "" {
		return a.Tool + ": " + target
	}
	return cmp.Or(a.Tool, "a turn that was cut, to be continued")
}
