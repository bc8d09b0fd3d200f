package cli

import (
	"math"
	"net/http"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/chat"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

// Approvals lists pending approvals, or decides.
type Approvals struct {
	List  ApprovalList  `cmd:"" default:"withargs" help:"List what waits for a decision."`
	Show  ApprovalShow  `cmd:"" help:"Show all of what is asked for, also what has no room in the list."`
	Allow ApprovalAllow `cmd:"" help:"Allow a tool, or continue a turn that was cut."`
	Deny  ApprovalDeny  `cmd:"" help:"Deny a tool, or drop a turn that was cut."`
}

func approvalID(a *api.Approval) string { return a.ID }

// ApprovalList lists the pending approvals.
type ApprovalList struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (l *ApprovalList) Run(c *command.Context, gateway *client.Client) error {
	return fetch(c, gateway, api.PathApprovals, l.JSON, func(got *api.Approvals) error {
		if len(got.Approvals) == 0 {
			c.Tellf("Nothing waits for a decision.")
			return nil
		}
		return c.PrintLines(approvalLines(got.Approvals, term.PaletteFor(c.Out), time.Now(), c.Width())...)
	})
}

// approvalLines shows each approval on a line of at most width cells.
func approvalLines(pending []api.Approval, colours term.Palette, now time.Time, width int) []string {
	t := &command.Table{Widest: []int{0, channelWidth}, Shared: true}
	for i := range pending {
		a := &pending[i]
		left := timeLeft(a, now)
		if left != "" {
			left += " left"
		}
		t.Add(command.Text(a.ID[:min(8, len(a.ID))]).Painted(colours.Bold), command.Text(a.Channel), command.Text(left), command.Text(call(a)), command.Text(firstWords(a.Prompt)))
	}
	return t.Lines(width)
}

// timeLeft returns the time until an approval expires; empty if the approval never expires.
func timeLeft(a *api.Approval, now time.Time) string {
	if a.ExpiresAt.IsZero() {
		return ""
	}
	return humanize.Duration(a.ExpiresAt.Sub(now).Truncate(time.Second))
}

// ApprovalShow shows a whole approval, because nobody should allow a hidden request.
type ApprovalShow struct {
	ID   string `arg:"" name:"id" help:"The approval's id, or the beginning of it."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (s *ApprovalShow) Run(c *command.Context, gateway *client.Client) error {
	return fetch(c, gateway, api.PathApprovals, false, func(got *api.Approvals) error {
		a, err := only(got.Approvals, approvalID, "approval", s.ID)
		if err != nil {
			return err
		}
		if s.JSON {
			return c.PrintJSON(a)
		}
		facts := command.Facts{Faint: term.PaletteFor(c.Out).Faint}
		facts.Add("approval", a.ID)
		facts.Add("channel", a.Channel)
		facts.Add("from", a.Prompt.User)
		facts.Add("prompt", firstWords(a.Prompt))
		facts.Add("left", timeLeft(a, time.Now()))
		facts.Add("--always", strings.Join(a.Always, ", "))
		whole := call(a)
		if a.Tool != "" {
			whole = chat.Whole(a.Tool, a.Input)
		}
		return c.PrintLines(append(facts.Lines(math.MaxInt), "", strings.TrimRight(term.Safe(whole), "\n"))...)
	})
}

// ApprovalAllow allows.
type ApprovalAllow struct {
	ID       string `arg:"" name:"id" help:"The approval's id, or the beginning of it."`
	Always   bool   `help:"Never ask again for this on its channel."`
	Remember bool   `help:"Do not ask again in this session."`
	JSON     bool   `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (a *ApprovalAllow) Run(c *command.Context, gateway command.Decider) error {
	return decide(c, gateway, a.ID, api.Decision{Behavior: api.Allow, Always: a.Always, Remember: a.Remember}, a.JSON)
}

// ApprovalDeny denies.
type ApprovalDeny struct {
	ID      string `arg:"" name:"id" help:"The approval's id, or the beginning of it."`
	Message string `placeholder:"TEXT" help:"What the agent is told."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (a *ApprovalDeny) Run(c *command.Context, gateway command.Decider) error {
	return decide(c, gateway, a.ID, api.Decision{Behavior: api.Deny, Message: a.Message}, a.JSON)
}

func decide(c *command.Context, gateway command.Decider, id string, body api.Decision, asJSON bool) error {
	if len(id) < fullID {
		var pending api.Approvals
		if err := c.Get(gateway.Client, api.PathApprovals, &pending); err != nil {
			return err
		}
		a, err := only(pending.Approvals, approvalID, "approval", id)
		if err != nil {
			return err
		}
		id = a.ID
	}
	return request(c, gateway.Client, http.MethodPost, api.ApprovalPath(id), body, asJSON, func(a *api.Approval) error {
		if a.State == "" {
			return c.PrintLines("Decided.")
		}
		line := strings.ToUpper(a.State[:1]) + a.State[1:] + ": " + call(a)
		if a.RetryID != "" {
			line += "; it goes on as " + a.RetryID
		}
		return c.PrintLines(term.SafeLine(line))
	})
}
