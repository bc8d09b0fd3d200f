package telegram

import (
	"context"
	"errors"
	"strings"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

// A command is one of the bot's own. What else begins with a slash is the agent's.
type command struct {
	name string
	does string // for the menu and /help
	// run does it and returns the answer. It may run once more after a crash of the
	// gateway, before the answer was recorded.
	run func(context.Context, call) Note
}

// A call is a command that somebody who is listened to has given.
type call struct {
	key     string // source key
	place   chats.Address
	arg     string
	message *models.Message
	arrived *arrival
}

// commands lists the bot's own, in the order of the menu.
func (a *Adapter) commands() []command {
	return []command{
		{"new", "forget this conversation and begin a new one", a.cmdNew},
		{"stop", "end what is running now", a.cmdStop},
		{"status", "what this chat is doing", a.cmdStatus},
		{"queue", "what waits: see, drop, run now", a.cmdQueue},
		{"model", "see or choose the model", a.cmdModel},
		{"mode", "see or choose the permission mode", a.cmdMode},
		{"usage", "what was spent", a.cmdUsage},
		{"verbose", "how much is shown while Claude works: 0, 1 or 2", a.cmdVerbose},
		{"rules", "what is always allowed here", a.cmdRules},
		{"why", "what became of a message: reply to it", a.cmdWhy},
		{"restart", "start the gateway anew", a.cmdRestart},
		{"help", "what you can do here", a.cmdHelp},
	}
}

// commandCalled returns the command of that name, or false.
func (a *Adapter) commandCalled(name string) (command, bool) {
	for _, c := range a.commands() {
		if c.name == name {
			return c, true
		}
	}
	if name == "start" { // which Telegram sends itself, so that no menu needs it
		return command{"start", "", a.cmdStart}, true
	}
	return command{}, false
}

// command does what a message asks the bot itself for, and reports whether that is
// all that is to be done about it.
func (a *Adapter) command(ctx context.Context, p chats.Address, r *arrival) bool {
	m := r.update.Message
	name, of, arg, ok := parseCommand(m, a.health.name())
	if !ok {
		return a.repliedToApproval(ctx, p, r)
	}
	if me := a.health.name(); of != "" && me != "" && !strings.EqualFold(of, me) {
		return true // it is for another bot
	}
	c, ok := a.commandCalled(name)
	if !ok {
		return false
	}
	if a.said(ctx, commandNote(r.key)) {
		return true
	}
	n := c.run(ctx, call{key: r.key, place: p, arg: arg, message: m, arrived: r})
	if n.ReplyTo = m.ID; ctx.Err() == nil && n.Text != "" {
		a.say(ctx, commandNote(r.key), p.Key(), n)
	}
	return true
}

// commandNote is the id of the answer to a command.
func commandNote(key string) string { return "cmd:" + key }

// parseCommand takes a command apart: /name@of arg. bot is the bot's user name, which
// may stand before it as well. A forwarded one is somebody else's, to be talked about.
func parseCommand(m *models.Message, bot string) (name, of, arg string, ok bool) {
	if m == nil || m.ForwardOrigin != nil {
		return "", "", "", false
	}
	head := m.Text
	if strings.HasPrefix(head, "@") {
		head = unaddressed(head, bot)
	}
	if !strings.HasPrefix(head, "/") {
		return "", "", "", false
	}
	if i := strings.IndexAny(head, " \t\n"); i >= 0 {
		head, arg = head[:i], strings.TrimSpace(head[i:])
	}
	name, of, _ = strings.Cut(head[1:], "@")
	return strings.ToLower(name), of, arg, name != ""
}

// isStop reports whether a message is the command that ends the running turn.
func isStop(m *models.Message, bot string) bool {
	name, _, _, ok := parseCommand(m, bot)
	return ok && name == "stop"
}

// said reports whether something was said already, or is about to be.
func (a *Adapter) said(ctx context.Context, id string) bool {
	_, err := a.o.Core.Delivery(ctx, id)
	if err != nil && !errors.Is(err, core.ErrNotFound) && ctx.Err() == nil {
		a.o.Log.Warn("telegram: not known whether it was said", "delivery", id, "err", err)
	}
	return err == nil
}

// failed is the answer to a command that could not be done.
func (a *Adapter) failed(ctx context.Context, doing string, err error) Note {
	if ctx.Err() == nil {
		a.o.Log.Error("telegram: a command failed", "doing", doing, "err", err)
	}
	return Note{Text: "That did not work (" + doing + "): " + literal(err.Error())}
}
