// Command bareclaw is a gateway between chat channels and the claude CLI. See
// README.md for what it does and docs/architecture.md for how it is built.
package main

import (
	"io"
	"log/slog"
	"os"
	"slices"

	"bareclaw/heartbeat/supervisor"
	"bareclaw/internal/cli"
	"bareclaw/internal/daemon"
	"bareclaw/internal/echoagent"
	"bareclaw/sessionhost/host"
	"bareclaw/sessionhost/protocol"
	"bareclaw/toolhost/api"
	"bareclaw/toolhost/runner"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run carries out one invocation and returns the exit status. The first argument selects
// the role of the process: one of those that the daemon starts, or else a command.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		switch args[0] {
		case protocol.Subcommand:
			return host.Run(slog.New(slog.NewTextHandler(stderr, nil)))
		case supervisor.Subcommand:
			return work(stderr)
		case api.Subcommand:
			return runner.Run(stdin, stderr)
		case daemon.EchoSubcommand:
			return echoagent.Run(args[1:], stdin, stdout, stderr)
		}
	}
	if len(args) == 0 || slices.Equal(args, []string{"serve"}) {
		return serve(stderr) // without the command line's memory, for the life of the gateway
	}
	return cli.Main(args, stdin, stdout, stderr)
}

// serve is the gateway with its supervisor.
func serve(stderr io.Writer) int {
	status, err := daemon.Serve()
	if err != nil {
		return cli.Report(err, stderr)
	}
	return status
}

// work is the gateway below its supervisor.
func work(stderr io.Writer) int {
	return cli.Report(daemon.Work(), stderr)
}
