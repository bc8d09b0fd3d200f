package observe

import (
	"fmt"
	"path/filepath"
	"strings"

	"bareclaw/internal/cli/command"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/term"
	"bareclaw/observe"
	"bareclaw/observe/discovery"
)

// List lists the observed apps.
type List struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (l *List) Run(c *command.Context) error {
	p, err := find(c)
	if err != nil {
		return err
	}
	all, err := p.records.Live()
	if err != nil {
		c.Tellf("%s", term.SafeSentence(err.Error()))
	}
	if l.JSON {
		if all == nil {
			all = []discovery.Record{}
		}
		return c.PrintJSON(all)
	}
	if len(all) == 0 {
		return c.PrintLines("No app is observed. `bareclaw observe -- COMMAND` starts one.")
	}
	table := &command.Table{}
	table.Head(term.Faint, "ID", "ADDRESS", "DIRECTORY", "SINCE", "TELLS")
	for i := range all {
		r := &all[i]
		tells := "nobody"
		if r.Channel != "" && r.Notify != string(observe.Off) {
			tells = r.Channel
		}
		table.Add(command.Text(r.ID).Painted(term.Bold), command.Text(r.Proxy), command.Text(r.Dir),
			command.Text(mdtext.Clock(r.Started.Local())), command.Text(tells))
	}
	return c.PrintTable(table)
}

// Stop ends observers.
type Stop struct {
	Which string `arg:"" optional:"" name:"which" help:"The id of the observer, or the directory of the app: this directory unless it is given."`
	All   bool   `help:"End all."`
}

// Run runs the command.
func (s *Stop) Run(c *command.Context) error {
	p, err := find(c)
	if err != nil {
		return err
	}
	all, err := p.records.Live()
	if err != nil {
		c.Tellf("%s", term.SafeSentence(err.Error()))
	}
	stopped := 0
	for i := range all {
		if !s.All && !s.means(p.dir, &all[i]) {
			continue
		}
		if err := observe.Stop(c.Context, &all[i]); err != nil {
			return err
		}
		c.Tellf("The observer of %s has ended.", term.SafeLine(all[i].Dir))
		stopped++
	}
	if err := observe.Sweep(c.Context, p.records); err != nil {
		c.Tellf("%s", term.SafeSentence(err.Error()))
	}
	if stopped > 0 || s.All {
		return nil
	}
	return s.unknown(all)
}

// means reports whether an observer is the one to end.
func (s *Stop) means(here string, r *discovery.Record) bool {
	if s.Which == "" {
		return r.Dir == here
	}
	dir := s.Which
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(here, dir)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return r.ID == s.Which || r.Dir == filepath.Clean(dir)
}

// unknown returns an error for an observer that is not there.
func (s *Stop) unknown(all []discovery.Record) error {
	what := "this directory"
	if s.Which != "" {
		what = fmt.Sprintf("%q", s.Which)
	}
	if len(all) == 0 {
		return fmt.Errorf("no observer runs for %s, nor any other", what)
	}
	known := make([]string, 0, len(all))
	for i := range all {
		known = append(known, all[i].ID+" ("+all[i].Dir+")")
	}
	return fmt.Errorf("no observer runs for %s; there are: %s", what, strings.Join(known, ", "))
}
