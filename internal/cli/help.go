package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"

	"bareclaw/core/ledger"
	"bareclaw/heartbeat/program"
	"bareclaw/internal/buildinfo"
	"bareclaw/internal/term"
)

// ExitStatuses explains the exit statuses.
const ExitStatuses = "Exit status: 0 done; 1 failed; 2 bad arguments or configuration; 3 the gateway cannot be reached; 130 interrupted."

// Help prints the help of a command. The help of the program ends with the exit statuses.
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

// Version prints the version of this program.
type Version struct {
	JSON bool `name:"json" help:"Tell more, as a JSON document: commit, system, and which ledgers this program reads."`
}

// Run prints the version.
func (v *Version) Run(stdout io.Writer) error {
	if !v.JSON {
		_, err := fmt.Fprintln(stdout, "bareclaw", buildinfo.Version())
		return err
	}
	reads := ledger.Program()
	return json.NewEncoder(stdout).Encode(program.Info{
		Version: buildinfo.Version(), Commit: buildinfo.Commit(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Schema: reads.Schema, MinReader: reads.MinReader,
	})
}
