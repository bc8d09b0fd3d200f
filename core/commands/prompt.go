package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bareclaw/internal/mdtext"
)

// A Prompt makes a command one that returns a text for the agent. People write the arguments behind the
// name; clients outside of chats know the prompt by its command's name, and give the arguments by theirs.
type Prompt struct {
	// Args are the arguments, those that are required first. Written behind the name, each is a word, but
	// for the last one, which is all the rest.
	Args []Arg
	// InChat says that the text is about the chat of the call: there is no such prompt outside of chats.
	InChat bool
	// Text returns the text, which is not empty. The values are those of Args, by name; an argument that
	// was not given has none. The call has no Arg, and outside of chats neither Channel nor Person.
	Text func(ctx context.Context, c Call, values map[string]string) (string, error)
}

// An Arg is an argument of a Prompt.
type Arg struct {
	Name     string // in lower case
	Help     string // what the argument is, in a few words
	Required bool
}

// A UsageError refuses the call of a prompt that the caller has made in a wrong way.
type UsageError struct {
	Command string // its name
	Problem string // goes on after the name, as in "needs the argument path"
}

// Error names the command, and says what is wrong with the call.
func (e *UsageError) Error() string { return "/" + e.Command + " " + e.Problem }

// errNoText means that a prompt has returned nothing for the agent.
var errNoText = errors.New("the text for Claude is empty")

// MakePrompt returns the text for the agent of a command with a Prompt. The values are those of its
// arguments, by name; an empty value is none. The error is a [*UsageError], or that of the Prompt's Text.
func (c *Command) MakePrompt(ctx context.Context, call Call, values map[string]string) (string, error) {
	if c.Prompt.InChat && call.Channel == "" {
		return "", c.misused("is about the chat that it is written in, and this call comes from none: write it in a chat")
	}
	given := map[string]string{}
	for name, value := range values {
		if !slices.ContainsFunc(c.Prompt.Args, func(a Arg) bool { return a.Name == name }) {
			return "", c.misused("has no argument " + fmt.Sprintf("%.60q", name))
		}
		if strings.TrimSpace(value) != "" {
			given[name] = value
		}
	}
	for _, arg := range c.Prompt.Args {
		if arg.Required && given[arg.Name] == "" {
			return "", c.misused("needs the argument " + arg.Name)
		}
	}
	call.Arg = ""
	text, err := c.Prompt.Text(ctx, call, given)
	if err == nil && strings.TrimSpace(text) == "" {
		err = Failed("make the prompt of /"+c.Name, errNoText)
	}
	return text, err
}

func (c *Command) misused(problem string) error {
	return &UsageError{
		Command: c.Name,
		Problem: problem,
	}
}

// prompt answers a call that somebody has written, with the text for the agent or how to write the call.
func (c *Command) prompt(ctx context.Context, call Call) (Note, error) {
	if len(c.Prompt.Args) == 0 && call.Arg != "" {
		return c.usage("takes nothing behind its name"), nil
	}
	text, err := c.MakePrompt(ctx, call, c.Prompt.values(call.Arg))
	if misuse, ok := errors.AsType[*UsageError](err); ok {
		return c.usage(misuse.Problem), nil
	}
	return Note{Prompt: text}, err
}

// values returns the values of the arguments as somebody has written them.
func (p *Prompt) values(written string) map[string]string {
	values := map[string]string{}
	for i, arg := range p.Args {
		value := written
		if i < len(p.Args)-1 {
			value, written = cutWord(written)
		}
		values[arg.Name] = value
	}
	return values
}

// cutWord returns the first word of a text, and the rest.
func cutWord(text string) (word, rest string) {
	i := strings.IndexAny(text, " \t\n")
	if i < 0 {
		return text, ""
	}
	return text[:i], strings.TrimSpace(text[i:])
}

// usage says how to write a call of the command.
func (c *Command) usage(problem string) Note {
	var b strings.Builder
	shape := "/" + c.Name
	for _, arg := range c.Prompt.Args {
		name := strings.ToUpper(arg.Name)
		if !arg.Required {
			name = "[" + name + "]"
		}
		shape += " " + name
	}
	b.WriteString(mdtext.Literal("/" + c.Name + " " + problem))
	b.WriteString(". Write " + mdtext.Code(shape) + ".")
	for _, arg := range c.Prompt.Args {
		if help := mdtext.Brief(arg.Help, quoted); help != "" {
			b.WriteString("\n" + mdtext.Code(strings.ToUpper(arg.Name)) + ": " + mdtext.Literal(help))
		}
	}
	return Note{Text: b.String()}
}

// check returns an error for a prompt whose arguments cannot be told apart.
func (p *Prompt) check() error {
	if p.Text == nil {
		return errors.New("has a prompt without Text")
	}
	optional := false
	for i, arg := range p.Args {
		isSame := func(other Arg) bool { return other.Name == arg.Name }
		switch {
		case !isName(arg.Name):
			return fmt.Errorf("has the argument %.60q: a name is a lower-case letter, then more of these, digits, _ and -", arg.Name)
		case slices.ContainsFunc(p.Args[:i], isSame):
			return fmt.Errorf("has two arguments %s", arg.Name)
		case arg.Required && optional:
			return fmt.Errorf("requires the argument %s behind one that it does not require", arg.Name)
		}
		optional = optional || !arg.Required
	}
	return nil
}
