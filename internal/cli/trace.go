package cli

import (
	"cmp"
	"fmt"
	"strings"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

// Trace shows what happened to a message.
type Trace struct {
	ID   string `arg:"" name:"id" help:"The message's id, or the beginning of it."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (t *Trace) Run(c *command.Context, gateway *client.Client) error {
	id, err := findMessage(c, gateway, t.ID)
	if err != nil {
		return err
	}
	return fetch(c, gateway, api.MessagePath(id)+"/trace", t.JSON, func(trace *api.Trace) error {
		return c.PrintLines(traceLines(trace, term.PaletteFor(c.Out), c.Width())...)
	})
}

// traceLines shows a trace for a person: the message, its way and its outcome.
func traceLines(t *api.Trace, colours term.Palette, width int) []string {
	m := &t.Message
	facts := []string{m.State}
	if t.Durations.TotalMS != nil {
		facts = append(facts, humanize.Duration(humanize.Milliseconds(*t.Durations.TotalMS)))
	}
	if m.CostUSD > 0 {
		facts = append(facts, humanize.USD(m.CostUSD))
	}
	if m.Code != "" {
		facts = append(facts, m.Code)
	}
	head := command.Facts{Faint: colours.Faint}
	head.Add("message", m.ID)
	head.Add("channel", m.Channel)
	head.Add("from", m.Prompt.User)
	head.Add("prompt", firstWords(m.Prompt))
	head.AddPainted("outcome", strings.Join(facts, ", "), stateColour(colours, m.State))
	head.Add("waits for", m.Why)
	head.Add("retry of", m.RetryOf)
	if n := len(t.Members); n > 1 {
		head.Add("turn", fmt.Sprintf("with %s more", humanize.Count(n-1, "message")))
	}
	head.Add("reply in", m.Into)
	lines := append(head.Lines(width), "")
	var way command.Table
	for _, mark := range t.Timeline {
		took := ""
		if mark.TookMS > 0 {
			took = humanize.Duration(humanize.Milliseconds(mark.TookMS))
		}
		way.Add(command.RightAligned("+"+humanize.Duration(humanize.Milliseconds(mark.AfterMS)), 10).Painted(colours.Faint), command.Text(mark.What), command.Text(took), command.Text(mark.Detail))
	}
	lines = append(lines, way.Lines(width)...)
	if said := cmp.Or(m.Text, m.Error); said != "" {
		lines = append(lines, "", strings.TrimRight(term.Safe(said), "\n"))
	}
	for _, d := range t.Deliveries {
		if d.State != "sent" {
			lines = append(lines, "", command.Fit(term.SafeLine(fmt.Sprintf("%s to %s is %s after %s: %s", d.Kind, d.Channel, d.State, humanize.Count(d.Attempts, "attempt"), d.Error)), width))
		}
	}
	return lines
}
