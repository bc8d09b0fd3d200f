// Package cli is the command line for people and scripts. Each command is a struct with a
// method Run; kong calls Run with the configuration and the clients that Run has as
// parameters. Package lifecycle has the commands that start, stop or replace the gateway.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/alecthomas/kong"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/heartbeat/program"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/buildinfo"
	"bareclaw/internal/cli/chat"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/cli/lifecycle"
	"bareclaw/internal/cli/mount"
	"bareclaw/internal/cli/observe"
	"bareclaw/internal/cli/setup"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/term"
)

// commandLine is the grammar of the command line, in the order of the help.
type commandLine struct {
	Setup    setupCommands   `embed:"" group:"install"`
	Daily    dailyCommands   `embed:"" group:"use"`
	Messages messageCommands `embed:"" group:"message"`
	Upkeep   upkeepCommands  `embed:"" group:"keep"`

	Complete complete `cmd:"" hidden:"" name:"complete-words"`

	Gateway gatewayCommands `embed:"" group:"run"`
}

// setupCommands set the gateway up.
type setupCommands struct {
	Init       setup.Init          `cmd:"" help:"Set the gateway up, step by step."`
	Service    lifecycle.Service   `cmd:"" help:"Have systemd or launchd keep the gateway running."`
	Heartbeat  lifecycle.Heartbeat `cmd:"" help:"Have Claude look around regularly, and start the gateway if it is down."`
	Settings   settings            `cmd:"" help:"Show the settings in force, and where each comes from."`
	Completion completion          `cmd:"" help:"Print a script that completes commands and channels in a shell."`
}

// dailyCommands are for every day.
type dailyCommands struct {
	Status    status           `cmd:"" help:"Show the gateway on one screen."`
	Send      send             `cmd:"" help:"Send a message to a channel and print the answer."`
	Chat      chat.Chat        `cmd:"" help:"Talk on a channel in this terminal."`
	Channels  channels         `cmd:"" help:"List the channels, or show or change one."`
	Approvals approvals        `cmd:"" help:"List what waits for a decision, or decide."`
	Schedule  schedules        `cmd:"" help:"Manage reminders and regular tasks."`
	Tools     tools            `cmd:"" help:"List, call and make the tools of Claude."`
	Mount     mount.Commands   `cmd:"" help:"Mount MCP servers of other people, whose tools every chat has then."`
	Observe   observe.Commands `cmd:"" help:"Observe a web app that is being built, and say what is wrong."`
	MCP       mcp              `cmd:"" name:"mcp" help:"Offer the gateway's tools to an MCP client, which starts this command."`
}

// messageCommands are about one message.
type messageCommands struct {
	Messages messages `cmd:"" help:"List the messages of a channel."`
	Trace    trace    `cmd:"" help:"Show what happened to a message, and when."`
	Cancel   cancel   `cmd:"" help:"Cancel a waiting message."`
	Retry    retry    `cmd:"" help:"Try a failed message again."`
}

// upkeepCommands keep the gateway running.
type upkeepCommands struct {
	Logs    logs              `cmd:"" help:"Show the gateway's log."`
	Start   lifecycle.Start   `cmd:"" help:"Start the gateway in the background: its service, if one is installed."`
	Stop    lifecycle.Stop    `cmd:"" help:"End the gateway; it stays down until you start it."`
	Restart lifecycle.Restart `cmd:"" help:"Have a new process take over; turns in progress go on."`
	Doctor  doctor.Doctor     `cmd:"" help:"Check the installation and say how to fix what is wrong."`
	Upgrade lifecycle.Upgrade `cmd:"" help:"Replace this program by a newer one, and go back if it does not work."`
	Backup  lifecycle.Backup  `cmd:"" help:"Copy everything that the gateway keeps into one file."`
	Restore lifecycle.Restore `cmd:"" help:"Put back what backup has saved."`
}

// gatewayCommands are the gateway itself.
type gatewayCommands struct {
	Serve   serve   `cmd:"" default:"1" help:"Run the gateway, until Ctrl-C. bareclaw init sets it up."`
	Version version `cmd:"" help:"Print the version."`
}

func groups() []kong.Group {
	return []kong.Group{
		{Key: "install", Title: "Set up:"},
		{Key: "use", Title: "Every day:"},
		{Key: "message", Title: "One message:"},
		{Key: "keep", Title: "Keep it running:"},
		{Key: "run", Title: "The gateway itself:"},
	}
}

type serve struct{}

// Run replaces this process by the gateway, which keeps nothing of the command line in
// memory.
func (serve) Run(c *command.Context) error {
	if err := syscall.Exec(c.Self, []string{c.Self, "serve"}, c.Environ); err != nil {
		return fmt.Errorf("start the gateway: %w", err)
	}
	return nil
}

// Main runs a command and returns the exit status of the process.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	exit := -1
	if err := service.LoadEnv(); err != nil {
		_, _ = fmt.Fprintln(stderr, "bareclaw:", err)
		return exitcode.Failed
	}
	parser, err := kong.New(&commandLine{Setup: setupCommands{Init: setup.New()}},
		kong.Name("bareclaw"),
		kong.Description("A gateway between chat channels and the claude CLI: every accepted message has exactly one visible outcome."),
		kong.ExplicitGroups(groups()),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Help(Help),
		kong.Writers(stdout, stderr),
		kong.Exit(func(status int) { exit = status }), // after --help
		kong.BindTo(stdout, (*io.Writer)(nil)),
		kong.BindToProvider((*command.Context).Config),
		kong.BindToProvider((*command.Context).LiveClient),
		kong.BindToProvider((*command.Context).Decider),
	)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bareclaw:", err)
		return exitcode.Failed
	}
	parser.Model.HelpFlag.Help = "Show this help."
	parsed, err := parser.Parse(Arguments(args))
	if exit >= 0 {
		return exit
	}
	if err != nil {
		if wantsJSON(args) {
			return reportJSON(command.Usagef("%s", describeUsage(err)), stdout)
		}
		_, _ = fmt.Fprintln(stderr, term.WrapIndented(stderr, "", "bareclaw: "+term.Safe(describeUsage(err))))
		return exitcode.Usage
	}
	self, err := os.Executable()
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bareclaw: find this program's file:", err)
		return exitcode.Failed
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends a command that does not listen to the first
	dir, _ := os.Getwd()         // a command that needs it says so
	c := &command.Context{
		Context: ctx,
		In:      stdin,
		Out:     stdout,
		Err:     stderr,
		Version: buildinfo.Version(),
		Self:    self,
		Environ: os.Environ(),
		Dir:     dir,
	}
	err = command.Explain(c, parsed.Run(c))
	if err != nil && wantsJSON(args) && !c.HasPrintedJSON() && !command.Silent(err) {
		return reportJSON(err, stdout)
	}
	return Report(err, stderr)
}

// wantsJSON reports whether the arguments ask for JSON.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json")
}

// reportJSON is Report for a program, which reads JSON on standard output.
func reportJSON(err error, stdout io.Writer) int {
	status := command.ExitStatus(err)
	document := struct {
		api.Error
		Advice string `json:"advice,omitempty"`
	}{api.Error{Error: command.ErrorText(err), Code: exitcode.Name(status)}, command.Advice(err)}
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code != "" {
		document.Code = refused.Code
	}
	if b, err := json.Marshal(document); err == nil { // texts can be encoded
		_, _ = fmt.Fprintln(stdout, string(term.SafeJSON(b)))
	}
	return status
}

// Report prints an error with its advice and returns its exit status. The status of nil is
// exitcode.OK, and nothing is printed.
func Report(err error, stderr io.Writer) int {
	if !command.Silent(err) {
		_, _ = fmt.Fprintln(stderr, term.WrapIndented(stderr, "", "bareclaw: "+lowerFirst(command.ErrorText(err))))
		if advice := command.Advice(err); advice != "" {
			_, _ = fmt.Fprintln(stderr, term.WrapIndented(stderr, "", advice))
		}
	}
	return command.ExitStatus(err)
}

// ExitStatuses explains the exit statuses.
const ExitStatuses = "Exit status: 0 done; 1 failed; 2 bad arguments or configuration; 3 the gateway cannot be reached; 130 interrupted."

// Help prints the help of a command. The help of the program ends with the exit statuses.
func Help(options kong.HelpOptions, ctx *kong.Context) error {
	for n := ctx.Selected(); n != nil; n = n.Parent {
		n.Group = nil // the commands below it are not in the group of the command
	}
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	if ctx.Selected() == nil || ctx.Empty() {
		width, _ := term.Columns(ctx.Stdout)
		_, users, _ := config.DotEnvFiles(config.AsCommand) // an unknown file is left out
		if users != "" {
			users = "Settings file: " + term.SafeLine(users) + "\n"
		}
		if _, err := fmt.Fprintf(ctx.Stdout, "\n%s%s\n", users, strings.Join(term.Wrap(ExitStatuses, width), "\n")); err != nil {
			return fmt.Errorf("write the help: %w", err)
		}
	}
	return nil
}

// Arguments prepares the arguments for the parser: "help" becomes the flag, --version the
// command. A word that begins like a flag and holds a space is a text, as are all
// following words.
func Arguments(args []string) []string {
	if len(args) > 0 && args[0] == "help" {
		return append(append([]string{}, args[1:]...), "--help")
	}
	if len(args) > 0 && args[0] == "--version" {
		return append([]string{"version"}, args[1:]...)
	}
	if len(args) > 0 && aliases()[args[0]] != "" {
		args = append([]string{aliases()[args[0]]}, args[1:]...)
	}
	for i, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			return args
		case strings.HasPrefix(arg, "-") && strings.ContainsFunc(name, unicode.IsSpace):
			return append(append(append([]string{}, args[:i]...), "--"), args[i:]...)
		}
	}
	return args
}

type version struct {
	JSON bool `name:"json" help:"Tell more, as a JSON document: commit, system, and which ledgers this program reads."`
}

// Run prints the version.
func (v *version) Run(stdout io.Writer) error {
	if !v.JSON {
		_, err := fmt.Fprintln(stdout, "bareclaw", buildinfo.Version())
		return err
	}
	reads := sqlite.Program()
	return json.NewEncoder(stdout).Encode(program.Info{
		Version:   buildinfo.Version(),
		Commit:    buildinfo.Commit(),
		Go:        runtime.Version(),
		OS:        runtime.GOOS,
		Arch:      runtime.GOARCH,
		Schema:    reads.Schema,
		MinReader: reads.MinReader,
	})
}
