package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core"
	"bareclaw/core/progress"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/shortid"
	"bareclaw/internal/term"
	"bareclaw/internal/visible"
	"bareclaw/sessionhost/claude"
)

// A send sends a message to a channel's agent and prints the answer, or pushes a text to the
// channel's people. Inside a session send pushes, because an agent that asks its own
// channel would wait for itself.
type send struct {
	Channel        string        `arg:"" help:"The channel, such as http or tg-123456789."`
	Text           []string      `arg:"" optional:"" help:"What to say; - reads it from standard input."`
	Push           bool          `xor:"how" help:"Push the text to the channel's people without asking an agent: the default where claude itself runs this command."`
	Ask            bool          `xor:"how" help:"Ask the channel's agent: the default except where claude itself runs this command."`
	File           string        `type:"path" placeholder:"PATH" help:"Push a file too, or on a channel without people behind it, and with --ask, tell Claude where it is."`
	Async          bool          `help:"Do not wait for the answer; print the message's id."`
	Mode           string        `enum:"collect,steer,interrupt" default:"collect" help:"How to treat a running turn: wait for its end (collect), hand the message to it (steer), or end it (interrupt)."`
	Timeout        time.Duration `placeholder:"10m" help:"How long to wait for the answer. The message goes on after that."`
	IdempotencyKey string        `placeholder:"KEY" help:"A key for this message: sending it again with the same key makes no second message."`
	JSON           bool          `name:"json" help:"Print what the gateway says as JSON."`
}

// Help is shown below the summary.
func (*send) Help() string {
	return "The answer is on standard output, everything else on standard error. A restart of the gateway meanwhile does no harm. " +
		"Ctrl-C ends the waiting, not the message: `bareclaw trace ID` shows what becomes of it.\n\n" +
		"From within a session, where claude runs this in its Bash, the text is pushed to the channel's people. " +
		"Another channel's agent is asked with --ask; a session cannot wait for its own channel.\n\n" +
		"Examples:\n\n  bareclaw send desk 'What is the capital of France?'\n\n  git diff | bareclaw send desk -\n\n  bareclaw send desk --file a.pdf 'Sum this up'"
}

// Validate refuses flags that exclude each other.
func (s *send) Validate() error {
	if s.Push && s.hasAskFlag() {
		return command.Usagef("--push cannot be combined with --async, --mode, --timeout or --idempotency-key, which are for asking")
	}
	if s.Timeout < 0 {
		return command.Usagef("--timeout must not be negative")
	}
	return nil
}

// hasAskFlag reports whether a flag is set that only makes sense for a question.
func (s *send) hasAskFlag() bool {
	return s.Async || s.Mode != "collect" || s.IdempotencyKey != "" || s.Timeout != 0
}

// Run runs the command.
func (s *send) Run(c *command.Context, gateway *client.Client) error {
	words, err := command.MessageText(c, strings.Join(s.Text, " "))
	if err != nil {
		return err
	}
	if strings.TrimSpace(words) == "" && s.File == "" {
		return command.Usagef("send what? Give a text that is not blank, or - to read it from standard input")
	}
	asks := s.Ask || s.hasAskFlag() && !command.InSession()
	if s.Push || s.File != "" && !asks || command.InSession() && !s.Ask {
		err := s.push(c, gateway, words)
		refused, ok := errors.AsType[*client.Error](err)
		if !ok || refused.Code != api.NoAdapter || s.Push || command.InSession() {
			return err
		}
	}
	if s.File != "" {
		if words, err = withFile(words, s.File); err != nil {
			return err
		}
	}
	return s.ask(c, gateway, words)
}

// withFile returns a text that tells Claude where a file is, which runs on the same machine.
func withFile(words, file string) (string, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return "", fmt.Errorf("look at the file: %w", err)
	case !info.Mode().IsRegular():
		return "", command.Usagef("%s is not a file", file)
	case strings.ContainsFunc(file, term.IsUnsafe):
		return "", command.Usagef("the file's path has characters that cannot be shown; rename the file")
	}
	return strings.TrimSpace(words + "\n\n(A file for you is at " + file + ")"), nil
}

func (s *send) push(c *command.Context, gateway *client.Client, words string) error {
	if s.hasAskFlag() {
		return command.Usagef("from within a session send pushes to the channel's people; add --ask to ask its agent")
	}
	body := api.SendRequest{Channel: s.Channel, Text: words}
	if s.File != "" {
		body.Media = &api.Media{Path: s.File}
	}
	var sent json.RawMessage
	err := gateway.Do(c.Context, http.MethodPost, api.PathSend, body, &sent)
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code == api.NoAdapter && command.InSession() && !s.Push {
		return fmt.Errorf("%w To ask the agent of that channel, add --ask", err)
	}
	if err != nil {
		return err
	}
	return printReply(c, sent, s.JSON, printing(c, "Sent to "+term.SafeLine(s.Channel)+"."))
}

func (s *send) ask(c *command.Context, gateway *client.Client, words string) error {
	if !s.JSON {
		if err := command.ConfirmNew(c, gateway, s.Channel); err != nil {
			return err
		}
	}
	body := api.MessageRequest{Channel: s.Channel, Text: words, Mode: s.Mode}
	key := cmp.Or(s.IdempotencyKey, uuid.NewString()) // a request that is repeated makes no second message
	if s.Async {
		return s.leave(c, gateway, body, key)
	}
	if command.IsOwnChannel(c, gateway, s.Channel) {
		return fmt.Errorf("this runs in the session of %s itself, which would wait for its own answer; "+
			"--push reaches the channel's people, --async leaves a message for the next turn", term.SafeLine(s.Channel))
	}
	return sendAndWait(c, exchange{gateway: gateway, path: api.PathMessage, body: body, key: key, timeout: s.Timeout, json: s.JSON})
}

func (s *send) leave(c *command.Context, gateway *client.Client, body any, key string) error {
	header := http.Header{"Prefer": {"respond-async"}, api.HeaderIdempotencyKey: {key}}
	var raw json.RawMessage
	if err := gateway.DoWith(c.Context, http.MethodPost, api.PathMessage, header, body, &raw); err != nil {
		return err
	}
	return printReply(c, raw, s.JSON, func(accepted *api.Accepted) error {
		if accepted.Why != "" {
			c.Tellf("%s", term.SafeLine(accepted.Why))
		}
		return c.PrintLines(term.SafeLine(accepted.ID))
	})
}

// awayPatience is how long the gateway may be away while an answer is waited for. A
// service manager starts another process within seconds.
const awayPatience = time.Minute

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
		Client:   x.gateway,
		Patience: awayPatience,
		Event:    func(e client.Event) { shown.watch(wheel, e) },
		Away:     func(error) { wheel.Show("The gateway is away; waiting for it") },
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
	c.Tellf("The message goes on without you. See what becomes of it: bareclaw trace %s", shortid.Of(term.SafeLine(id)))
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
		return visible.Line(a.Tool) + ": " + visible.Text(target)
	}
	return cmp.Or(visible.Line(a.Tool), "a turn that was cut, to be continued")
}
