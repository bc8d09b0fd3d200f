// Command bareclaw is a gateway between chat channels and the claude CLI. See
// README.md for what it does and docs/architecture.md for how it is built.
package main

import (
	"io"
	"log/slog"
	"os"

	"bareclaw/internal/cli"
	"bareclaw/internal/daemon"
	"bareclaw/internal/echoagent"
	"bareclaw/sessionhost/host"
	"bareclaw/sessionhost/protocol"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run carries out one invocation and returns the exit status. The first argument selects
// the role of the process: one of those that the daemon starts, or else a command.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		switch args[0] {
		case protocol.Subcommand:
			return host.Run(slog.New(slog.NewTextHandler(stderr, nil)))
		case daemon.KeepSubcommand:
			if len(args) == 2 {
				return daemon.Keep(args[1], slog.New(slog.NewTextHandler(stderr, nil)))
			}
		case daemon.EchoSubcommand:
			return echoagent.Run(args[1:], stdin, stdout, stderr)
		}
	}
	return cli.Main(args, stdin, stdout, stderr, daemon.Serve)
}
