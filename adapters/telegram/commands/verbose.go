package commands

import (
	"context"
	"slices"
	"strconv"

	"bareclaw/adapters/telegram/records"
	"bareclaw/core/commands"
	"bareclaw/internal/mdtext"
)

// levels describe how much is shown while Claude works.
var levels = [...]string{"answers only", "answers, and what Claude is doing", "everything that Claude does and says"}

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
	return verboseNote("Shown here", v.records.Verbosity(ctx, c.Channel)), nil
}

func (v verbosity) set(ctx context.Context, c commands.Call) (commands.Note, error) {
	level := slices.Index([]string{"0", "1", "2"}, c.Arg)
	if level < 0 {
		return commands.Note{Text: mdtext.Literal(mdtext.Brief(c.Arg, 100)) + " is not a level. Write /verbose 0 (" + levels[0] +
			"), 1 (" + levels[1] + ") or 2 (" + levels[2] + ")."}, nil
	}
	if err := v.records.SetVerbosity(ctx, c.Channel, level); err != nil {
		return commands.Note{}, commands.Failed("record the setting", err)
	}
	return verboseNote("From now on", level), nil
}

func verboseNote(when string, level int) commands.Note {
	n := commands.Note{Text: when + ": " + levels[level] + ". Tap 0, 1 or 2 to change that.", Columns: len(levels)}
	for i := range levels {
		text := strconv.Itoa(i)
		n.Choices = append(n.Choices, commands.Marked(text, "/verbose "+text, i == level))
	}
	return n
}
