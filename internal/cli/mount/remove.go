package mount

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/term"
)

// noticePatience is how long remove waits for the gateway to read the file.
const noticePatience = 10 * time.Second

// errUnnoticed says that the gateway has not read the file in time.
var errUnnoticed = fmt.Errorf("it has not read the file within %s", noticePatience)

// Remove takes a server out of the file.
type Remove struct {
	Name string `arg:"" name:"name" help:"The server's name."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run runs the command. It waits until a gateway that runs has noticed, within bounds.
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
	unnoticed := r.await(c, p)
	if r.JSON {
		err = c.PrintJSON(map[string]string{"removed": r.Name})
	} else {
		err = c.PrintLines("Removed " + term.SafeLine(r.Name) + ".")
	}
	if unnoticed != nil {
		text := fmt.Sprintf("Whether the gateway knows is open: %s. Its tools are there until it does; `bareclaw mount list` shows what it knows.", term.SafeLine(withoutStop(unnoticed).Error()))
		c.Tellf("%s", term.WrapIndented(c.Err, "", text))
	}
	return err
}

// await waits until the gateway has taken the server out. It returns why that is not known; nil also if no gateway runs.
func (r *Remove) await(c *command.Context, p *place) error {
	ctx, cancel := context.WithTimeoutCause(c.Context, noticePatience, errUnnoticed)
	defer cancel()
	bounded := *c
	bounded.Context = ctx
	gateway, err := bounded.LiveClient()
	if err == nil {
		err = p.awaitRead(ctx, &bounded, gateway, func(*api.Mounts) (bool, error) { return true, nil })
	}
	switch {
	case errors.Is(err, client.ErrUnreachable):
		return nil
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}
