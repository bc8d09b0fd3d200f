// Package commands has what people can ask of the gateway itself by a word with a slash, such as
// /queue. A [Table] is made of values: those of [Builtin], and those that other rooms add, at the start or
// by a [List]. Adapters look a command up, check who may call it, and show its note: a text and choices,
// each of which is a command again. A command with a [Prompt] returns a text for the agent instead.
package commands

import (
	"context"
	"fmt"
	"strings"

	"bareclaw/core"
)

// MaxCommand bounds the command of a choice, in bytes: adapters may have no room for more behind a
// button.
const MaxCommand = 64

// An Access says who may make a call that [Command.Run] answers. A call that [Command.Show] answers
// only reads, so everybody who may read the channel may make it, whatever the access of the command
// is. The access of a command without Run is Reads.
type Access int

// The accesses.
const (
	Reads  Access = iota + 1 // everybody who may read the channel
	Acts                     // everybody who may act on the channel, its own agent too
	Widens                   // people alone: the agent of the channel may do more unasked afterwards
)

// A Call is a command as somebody has written it.
type Call struct {
	Channel core.ChannelKey
	Person  string // name of the caller, as the adapter knows it; may be empty
	Arg     string // what follows the name, without white space around it
}

// A Note answers a call.
type Note struct {
	// Done says in a sentence what a choice has changed; empty: Text says it. An adapter that shows the
	// note of a choice in the place of the note before has room for Done elsewhere.
	Done    string
	Text    string // Markdown
	Choices []Choice
	Columns int // choices that belong in a row; 0 means 1
	// Prompt is the text of a command's Prompt, which the adapter submits in the place of the command. A
	// note with a prompt has nothing else.
	Prompt string
}

// Whole returns all that a note says, as Markdown.
func (n *Note) Whole() string {
	if n.Done == "" || n.Text == "" {
		return n.Done + n.Text
	}
	return n.Done + "\n\n" + n.Text
}

// A Choice is a command that somebody may call next.
type Choice struct {
	Label   string // plain text
	Command string // with the slash; at most MaxCommand bytes
}

// A Func answers a call. An error is a [*Failure].
type Func func(ctx context.Context, c Call) (Note, error)

// A Failure is an attempt of a command that failed.
type Failure struct {
	Doing string // what failed, as in "read the queue"
	Err   error
	// Again is the command that completes this one at the next process of the gateway; empty: the same.
	Again string
}

// Failed returns a failure without a command that completes it.
func Failed(doing string, err error) error { return &Failure{Doing: doing, Err: err} }

// Error names what failed, and why.
func (f *Failure) Error() string { return f.Doing + ": " + f.Err.Error() }

// Unwrap returns the reason.
func (f *Failure) Unwrap() error { return f.Err }

// A Command is a row of the table.
type Command struct {
	Name   string // without the slash: a lower-case letter, then more of these, digits, _ and -; at most MaxName
	Help   string // what the command does, in a few words without Markdown; not empty
	Access Access // who may make the calls that Run answers; Reads if Run is nil
	// Show answers a call without an argument, and only reads. Nil: Run answers.
	Show Func
	// Run answers a call with an argument. A crash may repeat a call whose note was not recorded.
	// Nil: Show answers.
	Run Func
	// Prompt answers all calls with a text for the agent, which only reads. Nil: Show or Run answers.
	Prompt *Prompt
}

// shows reports whether Show answers a call with an argument, else Run does.
func (c *Command) shows(arg string) bool {
	if c.Show == nil || c.Run == nil {
		return c.Run == nil
	}
	return arg == ""
}

// check returns an error for a row that cannot mean what it says.
func (c *Command) check() error {
	switch {
	case !isName(c.Name):
		return fmt.Errorf("the command /%.60s has no name that people can write: a lower-case letter, then more of these, digits, _ and -", c.Name)
	case strings.TrimSpace(c.Help) == "":
		return fmt.Errorf("the command /%s does not say what it does: set Help", c.Name)
	case c.Prompt != nil:
		return c.checkPrompt()
	case c.Show == nil && c.Run == nil:
		return fmt.Errorf("the command /%s answers no call: set Show or Run", c.Name)
	case c.Access < Reads || c.Access > Widens:
		return fmt.Errorf("the command /%s does not say who may call it: set Access", c.Name)
	case c.Run == nil && c.Access != Reads:
		return fmt.Errorf("the command /%s has only Show, which everybody may call who may read: set Access to Reads, or Run in place of Show", c.Name)
	}
	return nil
}

func (c *Command) checkPrompt() error {
	if c.Show != nil || c.Run != nil {
		return fmt.Errorf("the command /%s has a prompt, which answers all calls: leave Show and Run out", c.Name)
	}
	if c.Access != Reads {
		return fmt.Errorf("the command /%s has a prompt, which only reads: set Access to Reads", c.Name)
	}
	if err := c.Prompt.check(); err != nil {
		return fmt.Errorf("the command /%s %w", c.Name, err)
	}
	return nil
}

// MaxName is the length of the longest name of a command, in bytes.
const MaxName = 50

// isName reports whether a command, or an argument of a prompt, may have the name.
func isName(name string) bool {
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	unfit := func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_-", r) }
	return len(name) <= MaxName && !strings.ContainsFunc(name, unfit)
}

// AccessOf says who may call the command with an argument.
func (c *Command) AccessOf(arg string) Access {
	if c.shows(arg) {
		return Reads
	}
	return c.Access
}

// Answer answers a call. Answer may block as long as stopping a turn takes.
func (c *Command) Answer(ctx context.Context, call Call) (Note, error) {
	if c.Prompt != nil {
		return c.prompt(ctx, call)
	}
	if c.shows(call.Arg) {
		return c.Show(ctx, call)
	}
	return c.Run(ctx, call)
}

// Parse returns the name and the argument of a text that begins with a slash. Whether there is such
// a command is up to a table.
func Parse(text string) (name, arg string, ok bool) {
	text, ok = strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	name = text
	if i := strings.IndexAny(text, " \t\n"); i >= 0 {
		name, arg = text[:i], strings.TrimSpace(text[i:])
	}
	return name, arg, name != ""
}
