package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

// Trace shows what happened to a message.
type Trace struct {
	ID   string `arg:"" name:"id" help:"The message's id, or the beginning of it."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run carries it out.
func (t *Trace) Run(c *Context) error {
	gateway, id, err := resolveMessage(c, t.ID)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := c.get(gateway, api.MessagePath(id)+"/trace", &raw); err != nil {
		return err
	}
	if t.JSON {
		return c.document(raw)
	}
	var trace api.Trace
	if err := json.Unmarshal(raw, &trace); err != nil {
		return fmt.Errorf("understand the trace: %w", err)
	}
	return c.show(traceLines(&trace, term.PaletteFor(c.Out), c.width())...)
}

// traceLines is a trace for a person: what the message is, its way, its outcome.
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
	var head table
	head.add(text("message").painted(colours.Faint), text(m.ID))
	head.add(text("channel").painted(colours.Faint), text(m.Channel))
	if m.Prompt.User != "" {
		head.add(text("from").painted(colours.Faint), text(m.Prompt.User))
	}
	if words := firstWords(m.Prompt); words != "" {
		head.add(text("prompt").painted(colours.Faint), text(words))
	}
	head.add(text("outcome").painted(colours.Faint), text(strings.Join(facts, ", ")).painted(stateColour(colours, m.State)))
	if m.Why != "" {
		head.add(text("waits for").painted(colours.Faint), text(m.Why))
	}
	if m.RetryOf != "" {
		head.add(text("retry of").painted(colours.Faint), text(m.RetryOf))
	}
	if n := len(t.Members); n > 1 {
		head.add(text("turn").painted(colours.Faint), text(fmt.Sprintf("with %s more", humanize.Count(n-1, "message"))))
	}
	if m.Into != "" {
		head.add(text("reply in").painted(colours.Faint), text(m.Into))
	}
	lines := append(head.lines(width), "")
	var way table
	for _, mark := range t.Timeline {
		took := ""
		if mark.TookMS > 0 {
			took = humanize.Duration(humanize.Milliseconds(mark.TookMS))
		}
		way.add(cell{fmt.Sprintf("%10s", "+"+humanize.Duration(humanize.Milliseconds(mark.AfterMS))), colours.Faint}, text(mark.What), text(took), text(mark.Detail))
	}
	lines = append(lines, way.lines(width)...)
	if said := firstOf(m.Text, m.Error); said != "" {
		lines = append(lines, "", strings.TrimRight(term.Safe(said), "\n"))
	}
	for _, d := range t.Deliveries {
		if d.State != "sent" {
			lines = append(lines, "", fit(term.SafeLine(fmt.Sprintf("%s to %s is %s after %s: %s", d.Kind, d.Channel, d.State, humanize.Count(d.Attempts, "attempt"), d.Error)), width))
		}
	}
	return lines
}
