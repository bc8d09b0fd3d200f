package cli

import (
	"encoding/json"
	"fmt"
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

func listApprovals(c *command.Context, gateway *client.Client) ([]api.Approval, error) {
	var got api.Approvals
	err := c.Get(gateway, api.PathApprovals, &got)
	return got.Approvals, err
}

// ApprovalList lists the pending approvals.
type ApprovalList struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (l *ApprovalList) Run(c *command.Context) error {
	gateway, err := c.Client()
	if err != nil {
		return err
	}
	if l.JSON {
		return postAndPrint(c, gateway, api.PathApprovals)
	}
	pending, err := listApprovals(c, gateway)
	if err != nil {
		return err
	}
	if len(pending) == 0 {
		c.Tellf("Nothing waits for a decision.")
		return nil
	}
	t := approvalTable(pending, term.PaletteFor(c.Out), time.Now())
	t.Share(c.Width())
	return c.PrintLines(t.Lines(c.Width())...)
}

func approvalTable(pending []api.Approval, colours term.Palette, now time.Time) *command.Table {
	t := &command.Table{Widest: []int{0, channelWidth}}
	for _, a := range pending {
		left := ""
		if !a.ExpiresAt.IsZero() {
			left = humanize.Duration(a.ExpiresAt.Sub(now).Truncate(time.Second)) + " left"
		}
		t.Add(command.Text(a.ID[:min(8, len(a.ID))]).Painted(colours.Bold), command.Text(a.Channel), command.Text(left), command.Text(call(a.Tool, a.Input)), command.Text(firstWords(a.Prompt)))
	}
	return t
}

// ApprovalShow shows a whole approval, because nobody should allow a hidden request.
type ApprovalShow struct {
	ID   string `arg:"" name:"id" help:"The approval's id, or the beginning of it."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (a *ApprovalShow) Run(c *command.Context) error {
	gateway, err := c.Client()
	if err != nil {
		return err
	}
	var got struct {
		Approvals []json.RawMessage `json:"approvals"`
	}
	if err := c.Get(gateway, api.PathApprovals, &got); err != nil {
		return err
	}
	var found []string
	var asked api.Approval // the last of those, which is the only one if it is shown
	var document json.RawMessage
	for _, raw := range got.Approvals {
		var pending api.Approval
		if err := json.Unmarshal(raw, &pending); err != nil {
			return fmt.Errorf("understand the gateway's reply: %w", err)
		}
		if strings.HasPrefix(pending.ID, a.ID) {
			found, asked, document = append(found, pending.ID), pending, raw
		}
	}
	if _, err := one(found, "approval", a.ID); err != nil {
		return err
	}
	if a.JSON {
		return c.PrintJSON(document)
	}
	return printApproval(c, &asked)
}

func printApproval(c *command.Context, a *api.Approval) error {
	colours, now := term.PaletteFor(c.Out), time.Now()
	var t command.Table
	add := func(name, value string) {
		if value != "" {
			t.Add(command.Text(name).Painted(colours.Faint), command.Text(value))
		}
	}
	add("approval", a.ID)
	add("channel", a.Channel)
	add("from", a.Prompt.User)
	add("prompt", firstWords(a.Prompt))
	if !a.ExpiresAt.IsZero() {
		add("left", humanize.Duration(a.ExpiresAt.Sub(now).Truncate(time.Second)))
	}
	add("--always", strings.Join(a.Always, ", "))
	whole := call(a.Tool, a.Input)
	if a.Tool != "" {
		whole = chat.Whole(a.Tool, a.Input)
	}
	return c.PrintLines(append(t.Lines(math.MaxInt), "", strings.TrimRight(term.Safe(whole), "\n"))...)
}

// ApprovalAllow allows.
type ApprovalAllow struct {
	ID       string `arg:"" name:"id" help:"The approval's id, or the beginning of it."`
	Always   bool   `help:"Never ask again for this on its channel."`
	Remember bool   `help:"Do not ask again in this session."`
	JSON     bool   `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (a *ApprovalAllow) Run(c *command.Context) error {
	return decide(c, a.ID, api.Decision{Behavior: api.Allow, Always: a.Always, Remember: a.Remember}, a.JSON)
}

// ApprovalDeny denies.
type ApprovalDeny struct {
	ID      string `arg:"" name:"id" help:"The approval's id, or the beginning of it."`
	Message string `placeholder:"TEXT" help:"What the agent is told."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (a *ApprovalDeny) Run(c *command.Context) error {
	return decide(c, a.ID, api.Decision{Behavior: api.Deny, Message: a.Message}, a.JSON)
}

func decide(c *command.Context, id string, body api.Decision, asJSON bool) error {
	gateway, err := c.OverTCP()
	if err != nil {
		return err
	}
	if len(id) < fullID {
		pending, err := listApprovals(c, gateway)
		if err != nil {
			return err
		}
		var found []string
		for _, a := range pending {
			if strings.HasPrefix(a.ID, id) {
				found = append(found, a.ID)
			}
		}
		if id, err = one(found, "approval", id); err != nil {
			return err
		}
	}
	var raw json.RawMessage
	if err := gateway.Do(c.Context, http.MethodPost, api.ApprovalPath(id), body, &raw); err != nil {
		return err
	}
	if asJSON {
		return c.PrintJSON(raw)
	}
	var decided api.Approval
	if err := json.Unmarshal(raw, &decided); err != nil || decided.State == "" {
		return c.PrintLines("Decided.")
	}
	line := strings.ToUpper(decided.State[:1]) + decided.State[1:] + ": " + call(decided.Tool, decided.Input)
	if decided.RetryID != "" {
		line += "; it goes on as " + decided.RetryID
	}
	return c.PrintLines(term.SafeLine(line))
}
