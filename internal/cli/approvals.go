package cli

import (
	"net/http"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/chat"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/shortid"
	"bareclaw/internal/term"
	"bareclaw/internal/visible"
)

type approvals struct {
	List  approvalList  `cmd:"" default:"withargs" help:"List what waits for a decision."`
	Show  approvalShow  `cmd:"" help:"Show all of what is asked for, also what has no room in the list."`
	Allow approvalAllow `cmd:"" help:"Allow a tool, or continue a turn that was cut."`
	Deny  approvalDeny  `cmd:"" help:"Deny a tool, or drop a turn that was cut."`
}

func approvalID(a *api.Approval) string { return a.ID }

type approvalList listed

// Run runs the command.
func (l *approvalList) Run(c *command.Context, gateway *client.Client) error {
	return fetch(c, gateway, api.PathApprovals, l.JSON, func(got *api.Approvals) error {
		if len(got.Approvals) == 0 {
			c.Tellf("Nothing waits for a decision.")
			return nil
		}
		return c.PrintTable(approvalTable(got.Approvals, time.Now()))
	})
}

func approvalTable(pending []api.Approval, now time.Time) *command.Table {
	t := &command.Table{Widest: []int{0, channelWidth}, Shared: true}
	t.Head(term.Faint, "ID", "CHANNEL", "LEFT", "ASKS FOR", "PROMPT")
	for i := range pending {
		a := &pending[i]
		t.Add(idCell(a.ID), command.Text(a.Channel), command.Text(timeLeft(a, now)), command.Text(call(a)), command.Text(firstWords(a.Prompt)))
	}
	return t
}

// timeLeft returns the time until an approval expires; empty if the approval never expires.
func timeLeft(a *api.Approval, now time.Time) string {
	if a.ExpiresAt.IsZero() {
		return ""
	}
	return humanize.Duration(a.ExpiresAt.Sub(now).Truncate(time.Second))
}

// An approvalShow shows a whole approval, because nobody should allow a hidden request.
type approvalShow struct {
	ID   string `arg:"" name:"id" help:"The approval's id, or the end of it that the list shows."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (s *approvalShow) Run(c *command.Context, gateway *client.Client) error {
	a, err := pendingApproval(c, gateway, s.ID)
	if err != nil {
		return err
	}
	if s.JSON {
		return c.PrintJSON(a)
	}
	return printRequest(c, a)
}

// pendingApproval returns the pending approval with an id, or with the beginning of one.
func pendingApproval(c *command.Context, gateway *client.Client, id string) (*api.Approval, error) {
	var pending api.Approvals
	if err := c.Get(gateway, api.PathApprovals, &pending); err != nil {
		return nil, err
	}
	return only(pending.Approvals, approvalID, "approval", id)
}

// printRequest prints all that allowing an approval allows.
func printRequest(c *command.Context, a *api.Approval) error {
	var facts command.Facts
	facts.Add("approval", a.ID)
	facts.Add("channel", a.Channel)
	facts.Add("from", a.Prompt.User)
	facts.Add("prompt", firstWords(a.Prompt))
	facts.Add("left", timeLeft(a, time.Now()))
	lines := facts.Lines(term.PaletteFor(c.Out), command.Unlimited)
	for _, rule := range a.Always {
		lines = append(lines, "--always  "+visible.Line(rule))
	}
	if len(a.Suggestion) > 0 && a.Kind == "tool" { // the agent itself remembers
		lines = append(lines, "--remember  "+visible.Line(string(a.Suggestion)))
	}
	whole := call(a)
	if a.Tool != "" {
		whole = chat.Whole(*client.Approval(a))
	}
	return c.PrintLines(append(lines, "", strings.TrimRight(term.Safe(whole), "\n"))...)
}

type approvalAllow struct {
	ID       string `arg:"" name:"id" help:"The approval's id, or the end of it that the list shows."`
	Always   bool   `help:"Never ask again for this on its channel. What has no channel, as a call of tools call, is allowed once."`
	Remember bool   `help:"Do not ask again in this session."`
	Yes      bool   `help:"Do not ask."`
	JSON     bool   `name:"json" help:"Print JSON."`
}

// Help is shown below the summary.
func (*approvalAllow) Help() string {
	return "The whole request is printed first, as “approvals show” prints it. At a terminal you are then asked whether to allow it."
}

// Run runs the command. A request that no longer waits is left to the gateway, which says what
// became of it.
func (a *approvalAllow) Run(c *command.Context, gateway command.Decider) error {
	id := a.ID
	switch asked, err := pendingApproval(c, gateway.Client, id); {
	case err == nil:
		if err := a.confirm(c, asked); err != nil {
			return err
		}
		id = asked.ID
	case len(id) < shortid.Full:
		return err
	}
	return decide(c, gateway, id, api.Decision{Behavior: api.Allow, Always: a.Always, Remember: a.Remember}, a.JSON)
}

// confirm shows the request, and asks the person at the terminal.
func (a *approvalAllow) confirm(c *command.Context, asked *api.Approval) error {
	if a.JSON {
		return nil // for a program, which shows the request itself
	}
	if err := printRequest(c, asked); err != nil || a.Yes {
		return err
	}
	return c.Confirm("Allow this?")
}

type approvalDeny struct {
	ID      string `arg:"" name:"id" help:"The approval's id, or the end of it that the list shows."`
	Message string `placeholder:"TEXT" help:"What the agent is told."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (a *approvalDeny) Run(c *command.Context, gateway command.Decider) error {
	id := a.ID
	if len(id) < shortid.Full {
		asked, err := pendingApproval(c, gateway.Client, id)
		if err != nil {
			return err
		}
		id = asked.ID
	}
	return decide(c, gateway, id, api.Decision{Behavior: api.Deny, Message: a.Message}, a.JSON)
}

func decide(c *command.Context, gateway command.Decider, id string, body api.Decision, asJSON bool) error {
	return request(c, gateway.Client, http.MethodPost, api.ApprovalPath(id), body, asJSON, func(a *api.Approval) error {
		if a.State == "" {
			return c.PrintLines("Decided.")
		}
		line := strings.ToUpper(a.State[:1]) + a.State[1:] + ": " + call(a)
		if a.RetryID != "" {
			line += "; it goes on as " + a.RetryID
		}
		lines := []string{term.SafeLine(line)}
		if a.Note != "" {
			lines = append(lines, term.SafeLine(a.Note))
		}
		return c.PrintLines(lines...)
	})
}
