package commands

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"bareclaw/adapters/telegram/records"
	"bareclaw/core/commands"
	"bareclaw/internal/mdtext"
)

// levels describe how much is shown while Claude works.
var levels = [...]string{
	"answers only",
	"answers, and what Claude is doing",
	"everything that Claude does and says",
}

// A verbosity shows and sets how much chats show while Claude works.
type verbosity struct{ records *records.Store }

func (v verbosity) command() commands.Command {
	return commands.Command{
		Name:   "verbose",
		Help:   "how much is shown while Claude works: 0, 1 or 2",
		Access: commands.Acts,
		Show:   v.show,
		Run:    v.set,
	}
}

func (v verbosity) show(ctx context.Context, c commands.Call) (commands.Note, error) {
	level := v.records.Verbosity(ctx, c.Channel)
	return verboseNote("Shown here", level), nil
}

func (v verbosity) set(ctx context.Context, c commands.Call) (commands.Note, error) {
	level := slices.Index([]string{"0", "1", "2"}, c.Arg)
	if level < 0 {
		return badLevel(c.Arg), nil
	}
	if err := v.records.SetVerbosity(ctx, c.Channel, level); err != nil {
		return commands.Note{}, commands.Failed("record the setting", err)
	}
	return verboseNote("From now on", level), nil
}

func badLevel(arg string) commands.Note {
	quoted := mdtext.Literal(mdtext.Brief(arg, 100))
	text := fmt.Sprintf("%s is not a level. Write /verbose 0 (%s), 1 (%s) or 2 (%s).", quoted, levels[0], levels[1], levels[2])
	return commands.Note{Text: text}
}

// verboseNote says what is shown, with a choice for each level.
func verboseNote(when string, level int) commands.Note {
	var choices []commands.Choice
	for i := range levels {
		text := strconv.Itoa(i)
		choice := commands.Marked(text, "/verbose "+text, i == level)
		choices = append(choices, choice)
	}
	return commands.Note{
		Text:    when + ": " + levels[level] + ". Tap 0, 1 or 2 to change that.",
		Choices: choices,
		Columns: len(choices),
	}
}
