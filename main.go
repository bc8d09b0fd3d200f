// Command bareclaw is a gateway between chat channels and the claude CLI. See
// README.md for what it does and docs/architecture.md for how it is built.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"bareclaw/commands"
	"bareclaw/internal/echoagent"
	"bareclaw/internal/screen"
	"bareclaw/sessionhost"
)

// Exit statuses of the daemon and its roles; those of commands are among them.
const (
	exitOK      = commands.ExitOK
	exitFailure = commands.ExitFailed
	exitUsage   = commands.ExitUsage
)

// echoSubcommand is the hidden role that stands in for a missing claude.
const echoSubcommand = "echo-agent"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run carries out one invocation and returns its exit status. The roles that
// the daemon itself starts are told apart first: there is one host for each
// channel, and it should pay for nothing that it does not use.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		switch args[0] {
		case sessionhost.Subcommand:
			return sessionhost.Run(slog.New(slog.NewTextHandler(stderr, nil)))
		case keepSubcommand:
			if len(args) == 2 {
				return keep(args[1], slog.New(slog.NewTextHandler(stderr, nil)))
			}
		case echoSubcommand:
			return echoagent.Run(args[1:], stdin, stdout, stderr)
		}
	}
	return runCommand(args, stdin, stdout, stderr)
}

// cli is the command line.
type cli struct {
	Serve serveCmd `cmd:"" default:"1" group:"run" help:"Run the gateway, until Ctrl-C. bareclaw init sets it up."`
	commands.All
	Version versionCmd `cmd:"" group:"run" help:"Print the version."`
}

func runCommand(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	exit := -1
	parser, err := kong.New(&cli{},
		kong.Name("bareclaw"),
		kong.Description("A gateway between chat channels and the claude CLI: every accepted message has exactly one visible outcome."),
		kong.ExplicitGroups(commands.Groups()),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Help(commands.Help),
		kong.Writers(stdout, stderr),
		kong.Exit(func(status int) { exit = status }), // after --help
		kong.BindTo(stdout, (*io.Writer)(nil)),
	)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bareclaw:", err)
		return exitFailure
	}
	command, err := parser.Parse(commands.Arguments(args))
	if exit >= 0 {
		return exit
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, screen.Broken(stderr, "", "bareclaw: "+commands.Plain(misunderstood(err))))
		return exitUsage
	}
	self, err := os.Executable()
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bareclaw: find this program's file:", err)
		return exitFailure
	}
	ctx := context.Background()
	if command.Command() != "serve" { // which has a way of its own with signals
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt)
		defer stop()
		context.AfterFunc(ctx, stop) // a second Ctrl-C ends what does not listen to the first
	}
	return status(command.Run(&commands.Context{Context: ctx, In: stdin, Out: stdout, Err: stderr, Version: version(), Self: self, Environ: os.Environ()}), stderr)
}

// misunderstood says what of the arguments could not be understood, and which help is
// about them. What stands where a command's name may is taken for one.
func misunderstood(err error) string {
	says, about, named := err.Error(), "bareclaw", true
	if wrong, ok := errors.AsType[*kong.ParseError](err); ok && wrong.Context.Selected() != nil {
		node, args := wrong.Context.Selected(), wrong.Context.Args
		named = node.Parent != nil && node.Parent.DefaultCmd == node && !slices.Contains(args, node.Name)
		if named {
			node = node.Parent
		}
		about = node.FullPath()
	}
	if unknown, ok := strings.CutPrefix(says, "unexpected argument "); ok && named {
		says = "there is no command " + unknown
	}
	return says + "\nTry: " + about + " --help"
}

// status turns an error into an exit status and says what is wrong.
func status(err error, stderr io.Writer) int {
	if !commands.Silent(err) {
		_, _ = fmt.Fprintln(stderr, screen.Broken(stderr, "", "bareclaw: "+commands.Text(err)))
		if advice := commands.Advice(err); advice != "" {
			_, _ = fmt.Fprintln(stderr, screen.Broken(stderr, "", advice))
		}
	}
	return commands.ExitStatus(err)
}
