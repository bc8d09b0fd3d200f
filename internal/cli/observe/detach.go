package observe

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"bareclaw/internal/cli/command"
	"bareclaw/internal/term"
	"bareclaw/observe"
	"bareclaw/sessionhost/protocol"
)

// detach starts this command in the background, without the mark of a session, and waits until the app can be opened.
func (r *Run) detach(c *command.Context, p *place) error {
	d := observe.Detachment{
		Self:      c.Self,
		Arguments: r.arguments(cmp.Or(r.Channel, p.channel)),
		Dir:       p.dir,
		Environ: slices.DeleteFunc(slices.Clone(c.Environ), func(v string) bool {
			return strings.HasPrefix(v, protocol.EnvMarkVariable+"=")
		}),
		Records: p.records,
	}
	record, err := d.Start(c.Context)
	if err != nil {
		return err
	}
	o, err := r.options(c, p)
	if err != nil {
		return err
	}
	if record.App == "" {
		c.Tellf("The app does not answer yet.")
	}
	if err := r.tellReady(c, &o, record, p.unheard(c, o.Channel)); err != nil {
		return err
	}
	c.Tellf("It goes on in the background until `bareclaw observe stop`. Its output is in %s", term.SafeLine(d.Log()))
	return nil
}

// arguments returns those of the observer in the background.
func (r *Run) arguments(channel string) []string {
	args := []string{"--notify", string(r.Notify), "--instrument", r.Instrument}
	if r.Target != "" {
		args = append(args, "--target", r.Target)
	}
	if r.Port != 0 {
		args = append(args, "--port", strconv.Itoa(r.Port))
	}
	if channel != "" {
		args = append(args, "--channel", channel)
	}
	if len(r.Command) > 0 {
		args = append(args, "--")
		args = append(args, r.Command...)
	}
	return args
}
