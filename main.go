// Command bareclaw is a gateway between chat channels and the claude CLI. See
// README.md for what it does and docs/architecture.md for how it is built.
package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/alecthomas/kong"

	"bareclaw/core/config"
	"bareclaw/internal/echoagent"
	"bareclaw/sessionhost"
)

// Exit statuses.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2 // bad arguments or configuration
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
	return runCommand(args, stdout, stderr)
}

// cli is the command line.
type cli struct {
	Serve   serveCmd   `cmd:"" default:"1" help:"Run the gateway. It is configured by environment variables; see .env.example."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

func runCommand(args []string, stdout, stderr io.Writer) int {
	exit := -1
	parser, err := kong.New(&cli{},
		kong.Name("bareclaw"),
		kong.Description("A gateway between chat channels and the claude CLI: every accepted message has exactly one visible outcome."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(status int) { exit = status }), // after --help
		kong.BindTo(stdout, (*io.Writer)(nil)),
	)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bareclaw:", err)
		return exitFailure
	}
	command, err := parser.Parse(args)
	if exit >= 0 {
		return exit
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "bareclaw: %v\nTry: bareclaw --help\n", err)
		return exitUsage
	}
	return status(command.Run(), stderr)
}

// status turns an error into an exit status and says what is wrong.
func status(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintln(stderr, "bareclaw:", err)
	if problem := (*config.Problem)(nil); errors.As(err, &problem) {
		return exitUsage
	}
	return exitFailure
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(stdout io.Writer) error {
	_, err := fmt.Fprintln(stdout, "bareclaw", version())
	return err
}
