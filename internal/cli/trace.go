package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"bareclaw/adapters/httpapi/api"
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
func (t *Trace) Run(c *command.Context) error {
	gateway, id, err := resolveMessage(c, t.ID)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := c.Get(gateway, api.MessagePath(id)+"/trace", &raw); err != nil {
		return err
	}
	if t.JSON {
		return c.PrintJSON(raw)
	}
	var trace api.Trace
	if err := json.Unmarshal(raw, &trace); err != nil {
		return fmt.Errorf("understand the trace: %w", err)
	}
	return c.PrintLines(traceLines(&trace, term.PaletteFor(c.Out), c.Width())...)
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
	var head command.Table
	head.Add(command.Text("message").Painted(colours.Faint), command.Text(m.ID))
	head.Add(command.Text("channel").Painted(colours.Faint), command.Text(m.Channel))
	if m.Prompt.User != "" {
		head.Add(command.Text("from").Painted(colours.Faint), command.Text(m.Prompt.User))
	}
	if words := firstWords(m.Prompt); words != "" {
		head.Add(command.Text("prompt").Painted(colours.Faint), command.Text(words))
	}
	head.Add(command.Text("outcome").Painted(colours.Faint), command.Text(strings.Join(facts, ", ")).Painted(stateColour(colours, m.State)))
	if m.Why != "" {
		head.Add(command.Text("waits for").Painted(colours.Faint), command.Text(m.Why))
	}
	if m.RetryOf != "" {
		head.Add(command.Text("retry of").Painted(colours.Faint), command.Text(m.RetryOf))
	}
	if n := len(t.Members); n > 1 {
		head.Add(command.Text("turn").Painted(colours.Faint), command.Text(fmt.Sprintf("with %s more", humanize.Count(n-1, "message"))))
	}
	if m.Into != "" {
		head.Add(command.Text("reply in").Painted(colours.Faint), command.Text(m.Into))
	}
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
	if said := firstOf(m.Text, m.Error); said != "" {
		lines = append(lines, "", strings.TrimRight(term.Safe(said), "\n"))
	}
	for _, d := range t.Deliveries {
		if d.State != "sent" {
			lines = append(lines, "", command.Fit(term.SafeLine(fmt.Sprintf("%s to %s is %s after %s: %s", d.Kind, d.Channel, d.State, humanize.Count(d.Attempts, "attempt"), d.Error)), width))
		}
	}
	return lines
}
