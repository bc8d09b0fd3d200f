package cli

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"

	"bareclaw/internal/term"
)

// ExitStatuses says what the exit statuses of commands mean.
const ExitStatuses = "Exit status: 0 done; 1 failed; 2 bad arguments or configuration; 3 the gateway cannot be reached; 130 interrupted."

// Help prints the help of a command, and below that of the program what the exit
// statuses mean.
func Help(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	if ctx.Selected() == nil || ctx.Empty() {
		width, _ := term.Columns(ctx.Stdout)
		if _, err := fmt.Fprintf(ctx.Stdout, "\n%s\n", strings.Join(term.Wrap(ExitStatuses, width), "\n")); err != nil {
			return fmt.Errorf("write the help: %w", err)
		}
	}
	return nil
}

// Arguments returns the arguments of the program as they are parsed: "help" is the
// flag, --version the command, and what begins like a flag and holds a space, as the first line of a list
// does that is sent, is a text, as is all that follows it.
func Arguments(args []string) []string {
	if len(args) > 0 && args[0] == "help" {
		return append(append([]string{}, args[1:]...), "--help")
	}
	if len(args) > 0 && args[0] == "--version" {
		return append([]string{"version"}, args[1:]...)
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
