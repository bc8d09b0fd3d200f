package telegram

import (
	"context"
	"fmt"
	"strings"
)

// cmdStart answers what Telegram sends when somebody opens the chat first.
func (a *Adapter) cmdStart(context.Context, call) Note {
	return Note{Text: "This is BAREclaw: you write, and Claude works for you on the machine that this gateway runs on. " +
		"Each chat, and each topic of a group, is a conversation of its own.\n\n" +
		"Write what you want done, or send a file, a photo or a voice message. While Claude works you can write on; " +
		"it is taken up next. /stop ends what runs, /new begins a new conversation, /help lists what else there is."}
}

// cmdHelp lists the commands.
func (a *Adapter) cmdHelp(context.Context, call) Note {
	var b strings.Builder
	b.WriteString("Write to Claude as you would to a person. The gateway's own commands:\n\n")
	for _, c := range a.commands() {
		fmt.Fprintf(&b, "/%s – %s\n", c.name, c.does)
	}
	b.WriteString("\nEvery other command, such as /compact, goes to Claude. When Claude asks for a permission, tap a button, " +
		"or reply to its message with yes, no, or what it is to do instead.")
	return Note{Text: b.String()}
}
