package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"os/user"
	"syscall"
	"time"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/chat"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/term"
)

// Chat is a conversation in the terminal.
type Chat struct {
	Channel string `arg:"" optional:"" default:"terminal" help:"The channel, ${default} if none is given. Each has a session of its own."`
}

// Run talks until the user leaves.
func (c *Chat) Run(ctx *command.Context, gateway *client.Client) error {
	out, _ := ctx.Out.(*os.File)
	if !term.IsTerminal(ctx.In) || !term.IsTerminal(out) || os.Getenv("TERM") == "dumb" {
		return command.Usagef("chat needs a terminal that can move its cursor; in a script use: bareclaw send %s TEXT", c.Channel)
	}
	decider, err := ctx.Decider()
	if errors.Is(err, command.ErrInSession) { // the gateway refuses each decision
		decider = command.Decider{Client: gateway}
	} else if err != nil {
		return err
	}
	name := ""
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return untilTold(ctx.Context, func(told context.Context) error {
		return chat.Run(told, chat.Options{
			Channel: c.Channel, User: name, Client: gateway, Decider: decider.Client, In: ctx.In, Terminal: out, Coloured: term.PaletteFor(out).On,
		})
	})
}

// untilTold runs a function that changes the terminal, and cancels ctx on a signal, for the
// function to restore the terminal before the process ends.
func untilTold(ctx context.Context, run func(context.Context) error) error {
	outer, signals := ctx, [...]syscall.Signal{syscall.SIGTERM, syscall.SIGHUP}
	var told [len(signals)]context.Context
	var stops [len(signals)]context.CancelFunc
	var ignored [len(signals)]bool // as under nohup
	for i, s := range signals {
		ignored[i] = signal.Ignored(s)
		told[i], stops[i] = signal.NotifyContext(ctx, s)
		defer stops[i]()
		ctx = told[i]
	}
	err := run(ctx)
	for i, s := range signals {
		if outer.Err() != nil || told[i].Err() == nil {
			continue
		}
		stops[i]()
		if !ignored[i] { // the signal ends the process as if unhandled
			if err := syscall.Kill(os.Getpid(), s); err == nil {
				time.Sleep(time.Minute) // another thread may get the signal, and be slow
			}
		}
		return command.Signalled{Signal: s}
	}
	return err
}
