package mount

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
	"bareclaw/mcp/mounts"
)

// List lists the mounted servers.
type List struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (l *List) Run(c *command.Context) error {
	gateway, err := c.Client()
	if err != nil {
		return err
	}
	var now api.Mounts
	err = c.Get(gateway, api.PathMounts, &now)
	runs := err == nil
	if errors.Is(err, client.ErrUnreachable) && !command.InSession() {
		now, err = described(c)
	}
	if err != nil {
		return err
	}
	if l.JSON {
		err = c.PrintJSON(now)
	} else {
		err = l.print(c, &now)
	}
	if !runs {
		c.Tellf("The gateway does not run: this is what %s says.", mounts.FileName)
	}
	if now.Problem != "" {
		c.Tellf("%s", term.WrapIndented(c.Err, "", term.SafeLine(now.Problem)))
	}
	for _, why := range now.LeftOut {
		c.Tellf("%s", term.WrapIndented(c.Err, "", "In "+mounts.FileName+": "+term.SafeLine(why)))
	}
	if !command.InSession() {
		warnOfAllTwins(c)
	}
	return err
}

// described returns the servers of the file, for want of a gateway that knows more.
func described(c *command.Context) (now api.Mounts, err error) {
	p, err := open(c)
	if err != nil {
		return now, err
	}
	now.Mounts = []api.Mount{}
	now.LeftOut = p.file.LeftOut()
	for _, name := range p.file.Names() {
		now.Mounts = append(now.Mounts, describedMount(p.file, name))
	}
	return now, nil
}

// stateUnknown is the state of a server while no gateway runs.
const stateUnknown = "unknown"

func describedMount(file *mounts.File, name string) api.Mount {
	m := api.Mount{
		Name:      name,
		State:     stateUnknown,
		Instances: []api.MountInstance{},
	}
	server, err := file.Server(name)
	switch {
	case err != nil:
		m.State = api.MountUnusable
		m.Problem = err.Error()
	case server.Disabled:
		m.State = api.MountDisabled
	}
	m.Target = server.Target()
	if err == nil {
		m.Scope = string(cmp.Or(server.Scope, mounts.Shared))
		m.Category = string(server.CategoryOf())
	}
	return m
}

func (l *List) print(c *command.Context, now *api.Mounts) error {
	if len(now.Mounts) == 0 {
		return c.PrintLines("There are no mounted servers. Mount one with `bareclaw mount add`.")
	}
	t := &command.Table{}
	t.Head(term.Faint, "NAME", "STATE", "TOOLS", "CALLS", "FAILURES", "MEMORY", "SERVER", "PROBLEM")
	for i := range now.Mounts {
		t.Add(row(&now.Mounts[i])...)
	}
	if err := c.PrintTable(t); err != nil {
		return err
	}
	for i := range now.Mounts {
		if err := c.PrintLines(remarks(&now.Mounts[i])...); err != nil {
			return err
		}
	}
	return nil
}

func row(m *api.Mount) []command.Cell {
	colours := map[string]term.Colour{
		api.MountRunning:  term.Green,
		api.MountFailing:  term.Red,
		api.MountUnusable: term.Red,
	}
	offers := strconv.Itoa(m.Tools)
	if m.Asks > 0 {
		offers += fmt.Sprintf(" (%d ask)", m.Asks)
	}
	used := ""
	if m.MemoryBytes > 0 {
		used = humanize.Bytes(m.MemoryBytes)
	}
	return []command.Cell{
		command.Text(m.Name).Painted(term.Bold),
		command.Text(m.State).Painted(colours[m.State]),
		command.Text(offers),
		command.Text(strconv.Itoa(m.Calls)),
		command.Text(strconv.Itoa(m.Failures)),
		command.Text(used),
		command.Text(m.Target),
		command.Text(m.Problem),
	}
}

// maxListed bounds how many names a remark lists.
const maxListed = 5

// remarks says what else a person should know of a server, in a line each.
func remarks(m *api.Mount) (lines []string) {
	if n := len(m.Changed); n > 0 {
		names := strings.Join(m.Changed[:min(n, maxListed)], ", ")
		if n > maxListed {
			names += ", …"
		}
		lines = append(lines, fmt.Sprintf("%s: %s changed since you know them, and ask anew: %s", m.Name, humanize.Count(n, "tool"), names))
	}
	if n := len(m.LeftOut); n > 0 {
		lines = append(lines, fmt.Sprintf("%s: %s left out; the first one: %s", m.Name, humanize.Count(n, "tool"), m.LeftOut[0]))
	}
	for i, line := range lines {
		lines[i] = term.SafeLine(line)
	}
	return lines
}
