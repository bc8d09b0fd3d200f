package commands

import (
	"os"
	"os/user"

	"bareclaw/client"
	"bareclaw/commands/chat"
	"bareclaw/internal/screen"
)

// Chat is a conversation in the terminal.
type Chat struct {
	Channel string `arg:"" optional:"" default:"terminal" help:"The channel, ${default} if none is given. Each has a session of its own."`
}

// Run talks until the user leaves.
func (c *Chat) Run(ctx *Context) error {
	out, _ := ctx.Out.(*os.File)
	if !screen.IsTerminal(ctx.In) || !screen.IsTerminal(out) {
		return Usagef("chat needs a terminal; in a script use: bareclaw send %s TEXT", c.Channel)
	}
	api, err := ctx.Client()
	if err != nil {
		return err
	}
	decider := api
	if client.Inherited() == nil {
		cfg, err := ctx.Config()
		if err != nil {
			return err
		}
		decider = client.Direct(cfg)
	}
	name := ""
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return chat.Run(ctx.Context, chat.Options{Channel: c.Channel, User: name, Client: api, Decider: decider, In: ctx.In, Terminal: out})
}
