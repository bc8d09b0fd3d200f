package cli

import (
	"github.com/alecthomas/kong"

	"bareclaw/internal/cli/lifecycle"
)

// All are the commands in the order of the help.
type All struct {
	Status    Status    `cmd:"" group:"use" help:"Show the gateway on one screen."`
	Send      Send      `cmd:"" group:"use" help:"Send a message to a channel and print the answer."`
	Chat      Chat      `cmd:"" group:"use" help:"Talk on a channel in this terminal."`
	Channels  Channels  `cmd:"" group:"use" help:"List the channels, or look after one."`
	Approvals Approvals `cmd:"" group:"use" help:"List what waits for a decision, or decide."`
	Schedule  Schedule  `cmd:"" group:"use" help:"Remind, or do something regularly."`

	Messages Messages `cmd:"" group:"message" help:"List the messages of a channel."`
	Trace    Trace    `cmd:"" group:"message" help:"Show what happened to a message, and when."`
	Cancel   Cancel   `cmd:"" group:"message" help:"Take a message back that waits."`
	Retry    Retry    `cmd:"" group:"message" help:"Try a message again that failed."`

	Logs    Logs              `cmd:"" group:"keep" help:"Show the gateway's log."`
	Stop    lifecycle.Stop    `cmd:"" group:"keep" help:"End the gateway; it stays down until you start it."`
	Restart lifecycle.Restart `cmd:"" group:"keep" help:"Have a new process take over; turns in progress go on."`
	Doctor  Doctor            `cmd:"" group:"keep" help:"Look for what is wrong, and say how to mend it."`
	Upgrade lifecycle.Upgrade `cmd:"" group:"keep" help:"Put a new program in the place of this one, and go back if it does not work."`
	Backup  lifecycle.Backup  `cmd:"" group:"keep" help:"Copy everything that the gateway keeps into one file."`
	Restore lifecycle.Restore `cmd:"" group:"keep" help:"Put back what backup has saved."`

	Init       Init                `cmd:"" group:"install" help:"Set the gateway up, step by step."`
	Service    lifecycle.Service   `cmd:"" group:"install" help:"Have systemd or launchd keep the gateway running."`
	Heartbeat  lifecycle.Heartbeat `cmd:"" group:"install" help:"Have Claude look around regularly, and the gateway started if it is down."`
	Completion Completion          `cmd:"" group:"install" help:"Print what makes a shell complete commands and channels."`

	Complete Complete `cmd:"" hidden:"" name:"complete-words"`
}

// Groups are the groups of commands.
func Groups() []kong.Group {
	return []kong.Group{
		{Key: "use", Title: "Every day:"},
		{Key: "message", Title: "One message:"},
		{Key: "keep", Title: "Keep it running:"},
		{Key: "install", Title: "Install:"},
		{Key: "run", Title: "The gateway itself:"},
	}
}
