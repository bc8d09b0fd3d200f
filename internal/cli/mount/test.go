package mount

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/term"
)

// Test starts a server, and lists its tools.
type Test struct {
	Name string `arg:"" name:"name" help:"The server's name."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// nameWidth is how much of a tool's name a table shows, in cells.
const nameWidth = 48

// Run runs the command.
func (t *Test) Run(c *command.Context) error {
	p, err := openOutside(c)
	if err != nil {
		return err
	}
	gateway, err := c.LiveClient()
	if err != nil {
		return err
	}
	wheel := command.StartReminder(c.Err, "Starting "+term.SafeLine(t.Name), "The server is being started, since %s.")
	defer wheel.End()
	var reply json.RawMessage
	err = gateway.Do(c.Context, http.MethodPost, api.MountTestPath(t.Name), nil, &reply)
	refused, isRefusal := errors.AsType[*client.Error](err)
	switch {
	case errors.Is(err, client.ErrUnreachable):
		reply, err = t.probe(c, p)
	case isRefusal && refused.Code == api.NotFound:
		err = t.unknown(p)
	}
	wheel.End()
	if err != nil {
		return err
	}
	if t.JSON {
		return c.PrintJSON(reply)
	}
	var m api.Mount
	if err := json.Unmarshal(reply, &m); err != nil {
		return fmt.Errorf("understand the gateway's reply: %w", err)
	}
	return printTools(c, &m)
}

// unknown returns an error for a name that the gateway does not know.
func (t *Test) unknown(p *place) error {
	if !slices.Contains(p.file.Names(), t.Name) {
		return p.missing(t.Name)
	}
	return fmt.Errorf("the gateway does not know the server %s, which is in %s: the gateway has not read the file yet, or has another one. "+
		"Try again in a moment; `bareclaw mount list` shows what the gateway knows", t.Name, p.path)
}

// probe has the server list its tools without a gateway.
func (t *Test) probe(c *command.Context, p *place) (json.RawMessage, error) {
	server, err := p.file.Server(t.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, p.missing(t.Name)
	}
	if err != nil {
		return nil, err
	}
	m, err := p.probe(c.Context, &server)
	if err != nil {
		return nil, fmt.Errorf("the server %s does not start: %w.%s", t.Name, withoutStop(err), p.advice(err))
	}
	return json.Marshal(m)
}

func printTools(c *command.Context, m *api.Mount) error {
	table := &command.Table{Widest: []int{nameWidth}}
	table.Head(term.Faint, "TOOL", "ASKS", "DESCRIPTION")
	for _, tool := range m.ToolList {
		asks := "no"
		switch {
		case tool.Changed:
			asks = "yes, changed"
		case tool.Asks:
			asks = "yes"
		}
		table.Add(command.Text(tool.Name).Painted(term.Bold), command.Text(asks), command.Text(tool.Description))
	}
	if len(m.ToolList) > 0 {
		if err := c.PrintTable(table); err != nil {
			return err
		}
	}
	return c.PrintLines(append([]string{term.SafeLine(summary(m))}, remarks(m)...)...)
}
