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
	return untilTold(ctx.Context, syscall.SIGTERM, func(told context.Context) error {
		return untilTold(told, syscall.SIGHUP, func(told context.Context) error {
			return chat.Run(told, chat.Options{
				Channel: c.Channel, User: name, Client: gateway, Decider: decider.Client, In: ctx.In, Terminal: out, Coloured: term.PaletteFor(out).On,
			})
		})
	})
}

// untilTold runs a function that changes the terminal, and cancels ctx on a signal, for the
// function to restore the terminal before the process ends.
func untilTold(ctx context.Context, s syscall.Signal, run func(context.Context) error) error {
	ignored := signal.Ignored(s) // as under nohup
	told, stop := signal.NotifyContext(ctx, s)
	defer stop()
	err := run(told)
	if ctx.Err() != nil || told.Err() == nil {
		return err
	}
	stop()
	if !ignored { // the signal ends the process as if unhandled
		if err := syscall.Kill(os.Getpid(), s); err == nil {
			time.Sleep(time.Minute) // another thread may get the signal, and be slow
		}
	}
	return command.Signalled{Signal: s}
}
