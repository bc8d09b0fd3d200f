package mount

import (
	"bareclaw/internal/cli/command"
	"bareclaw/internal/term"
)

// Remove takes a server out of the file.
type Remove struct {
	Name string `arg:"" name:"name" help:"The server's name."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run runs the command. A gateway that runs ends the server within seconds.
func (r *Remove) Run(c *command.Context) error {
	p, err := openToChange(c)
	if err != nil {
		return err
	}
	if !p.file.Remove(r.Name) {
		return p.missing(r.Name)
	}
	if err := p.write(); err != nil {
		return err
	}
	if r.JSON {
		return c.PrintJSON(map[string]string{"removed": r.Name})
	}
	return c.PrintLines("Removed " + term.SafeLine(r.Name) + ".")
}
