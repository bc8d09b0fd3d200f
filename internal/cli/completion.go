package cli

import (
	"context"
	"embed"
	"slices"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/cli/mount"
	"bareclaw/internal/term"

	"github.com/alecthomas/kong"
)

// completionPatience is how long a shell waits for the names of channels.
const completionPatience = 500 * time.Millisecond

// completions has a script for each shell. It passes the words up to the cursor to the
// program, the unfinished word last, and offers the printed candidates.
//
//go:embed completion
var completions embed.FS

type completion struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help is shown below the summary.
func (*completion) Help() string {
	return "bash: eval \"$(bareclaw completion bash)\" in ~/.bashrc\n\n" +
		"zsh: eval \"$(bareclaw completion zsh)\" in ~/.zshrc, after compinit\n\n" +
		"fish: bareclaw completion fish > ~/.config/fish/completions/bareclaw.fish"
}

// Run runs the command.
func (s *completion) Run(c *command.Context) error {
	script, err := completions.ReadFile("completion/bareclaw." + s.Shell)
	if err != nil {
		return err
	}
	return c.Print(string(script))
}

// A complete prints the candidates for the last word, one on each line.
type complete struct {
	Words []string `arg:"" optional:""`
}

// Run runs the command.
func (s *complete) Run(c *command.Context, parsed *kong.Context) error {
	words := s.Words
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	node, place := walk(parsed.Kong, words[:len(words)-1])
	var all []string
	switch {
	case strings.HasPrefix(last, "-"):
		for _, group := range node.AllFlags(true) {
			for _, f := range group {
				all = append(all, "--"+f.Name)
			}
		}
	case place < len(node.Positional):
		all = candidates(c, node.Positional[place])
	default:
		for _, child := range node.Children {
			if !child.Hidden {
				all = append(all, child.Name)
			}
		}
	}
	all = slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, last) })
	return c.PrintLines(all...)
}

// walk follows words to a command, and returns the number of given arguments. A default
// command counts only by its name.
func walk(parser *kong.Kong, words []string) (at *kong.Node, given int) {
	at = parser.Model.Node
	traced, err := kong.Trace(parser, words)
	if err != nil {
		return at, 0
	}
	for _, step := range traced.Path { // up to the first word that cannot be parsed
		switch {
		case step.Command != nil && slices.Contains(words, step.Command.Name):
			at, given = step.Command, 0
		case step.Positional != nil:
			given++
		}
	}
	return at, given
}

// candidates returns the candidates for an argument: its values, snapshots, or the channels or
// tools of a gateway that answers at once.
func candidates(c *command.Context, arg *kong.Positional) []string {
	if arg.Enum != "" {
		return arg.EnumSlice()
	}
	ctx, cancel := context.WithTimeout(c.Context, completionPatience)
	defer cancel()
	quick := *c
	quick.Context = ctx
	gateway, err := quick.Client()
	if err != nil {
		return nil
	}
	var names []string
	switch arg.Name {
	case "channel":
		names, err = channelNames(&quick, gateway)
	case "tool":
		names, err = toolNames(&quick, gateway)
	case "mount":
		names, err = mount.Names(&quick)
	case "snapshot":
		names, err = snapshotIDs(&quick)
	}
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(names, func(name string) bool { return name != term.SafeLine(name) }) // which a terminal cannot show
}

func channelNames(c *command.Context, gateway *client.Client) (names []string, err error) {
	channels, err := command.ListChannels(c, gateway)
	for _, ch := range channels {
		names = append(names, ch.Channel)
	}
	return names, err
}
