// Package commands handles the bot's own commands and the taps on the bot's buttons. All
// further commands go to Claude.
package commands

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"bareclaw/adapters/telegram/approvals"
	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/env"
	"bareclaw/adapters/telegram/live"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/wait"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// Options hold the dependencies of a Handler. All are required, except Restart.
type Options struct {
	*env.Env
	Out       *outbox.Outbox
	Sender    *outbox.Sender
	Live      *live.Views
	Approvals *approvals.Handler
	Gateway   view.Gateway
	Models    []string // names of models that the agent offers
	// Restart restarts the gateway.
	Restart func(context.Context) error
	// BotName returns the bot's user name; empty while unknown.
	BotName func() string
	// RunEdited submits the edited form of a message.
	RunEdited func(context.Context, chats.Tap) string
}

// A Handler handles commands and taps. Its methods are safe for concurrent use.
type Handler struct {
	*Options
	*stops
	*restarts
	commands []command               // in the order of the menu
	actions  map[string]chats.Action // by the verb of the button
}

// New returns a handler.
func New(o Options) *Handler {
	h := &Handler{Options: &o, stops: &stops{&o}, restarts: &restarts{&o}}
	c := chat{&o}
	h.commands = []command{
		{"new", "forget this conversation and begin a new one", o.reset},
		{"stop", "stop what is running now", h.stop},
		{"status", "what this chat is doing", c.status},
		{"queue", "waiting messages: see, drop, run now", choice(c.queue, nil)},
		{"model", "see or choose the model", choice(c.model, c.setModel)},
		{"mode", "see or choose the permission mode", choice(c.mode, c.setMode)},
		{"usage", "what was spent", c.usage},
		{"verbose", "how much is shown while Claude works: 0, 1 or 2", choice(c.verbose, c.setVerbose)},
		{"rules", "what is always allowed here", choice(c.rules, nil)},
		{"why", "what became of a message: reply to it", c.why},
		{"restart", "restart the gateway", h.restart},
		{"help", "what you can do here", h.help},
	}
	h.actions = map[string]chats.Action{
		"drop": o.ownChat(c.drop), "now": o.ownChat(c.runNow), "unrule": c.removeRule,
		"model": o.setting(c.setModel), "mode": o.setting(c.tapMode), "verbose": o.setting(c.setVerbose),
		"stop": h.tapStop, "edit": o.RunEdited, view.RetryVerb: o.ownChat(o.retry), view.RenewVerb: o.ownChat(o.renew),
	}
	maps.Copy(h.actions, o.Approvals.Actions())
	return h
}

// A Call is a command of an allowed user.
type Call struct {
	Key        string // source key
	Address    chats.Address
	Message    *models.Message
	ReceivedAt time.Time // by the clock of the local machine
	arg        string
}

type command struct {
	name string
	does string // for the menu and /help
	// run handles a call and returns the answer. After a crash, run may be called again
	// if the answer was not recorded.
	run func(context.Context, Call) view.Note
}

func (h *Handler) find(name string) (command, bool) {
	if name == "start" { // sent by Telegram itself, and in no menu
		return command{run: start}, true
	}
	i := slices.IndexFunc(h.commands, func(c command) bool { return c.name == name })
	if i < 0 {
		return command{}, false
	}
	return h.commands[i], true
}

// Calls reports whether a message calls one of the bot's own commands.
func (h *Handler) Calls(m *models.Message) bool {
	name, _, _, ok := parse(m, h.BotName())
	if ok {
		_, ok = h.find(name)
	}
	return ok
}

// Handle handles a message for the bot itself: a command, or a reply that decides an
// approval. Handle returns false if the message is for Claude.
func (h *Handler) Handle(ctx context.Context, c Call) bool {
	me := h.BotName()
	name, of, arg, ok := parse(c.Message, me)
	if !ok {
		return h.Approvals.Reply(ctx, c.Address, c.Key, answerID(c.Key), c.Message)
	}
	cmd, ok := h.find(name)
	if !ok || of != "" && me != "" && !strings.EqualFold(of, me) {
		return false // for Claude, or another bot
	}
	if h.Out.Recorded(ctx, answerID(c.Key)) {
		return true
	}
	c.arg = arg
	n := cmd.run(ctx, c)
	if n.ReplyTo = c.Message.ID; ctx.Err() == nil && n.Text != "" {
		h.Out.Say(ctx, answerID(c.Key), c.Address.Key(), n)
	}
	return true
}

func answerID(key string) string { return "cmd:" + key }

// parse parses a command: /name@of arg, optionally after the bot's user name. A
// forwarded command is not a command, but part of a conversation about the command.
func parse(m *models.Message, bot string) (name, of, arg string, ok bool) {
	if m == nil || m.ForwardOrigin != nil {
		return "", "", "", false
	}
	head := m.Text
	if strings.HasPrefix(head, "@") {
		head = chats.Unaddressed(head, bot)
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

// IsStop reports whether a message is the command to stop the running turn.
func IsStop(m *models.Message, bot string) bool {
	name, _, _, ok := parse(m, bot)
	return ok && name == "stop"
}

// failed logs the failure of a command, and is the answer.
func (o *Options) failed(ctx context.Context, doing string, err error) view.Note {
	o.Records.Error(ctx, "a command failed", err, "doing", doing)
	return view.Note{Text: "That did not work (" + doing + "): " + mdtext.Literal(err.Error())}
}

// start answers the command sent by Telegram when a user opens the chat for the first
// time.
func start(context.Context, Call) view.Note {
	return view.Note{Text: "This is BAREclaw: you write, and Claude works for you on the machine that this gateway runs on. " +
		"Each chat, and each topic of a group, is a conversation of its own.\n\n" +
		"Write what you want done, or send a file, a photo or a voice message. You can go on writing while Claude works; " +
		"it reads that next. /stop stops what is running, /new begins a new conversation, /help lists everything else."}
}

func (h *Handler) help(context.Context, Call) view.Note {
	var b strings.Builder
	b.WriteString("Write to Claude as you would to a person. The gateway's own commands:\n\n")
	for _, c := range h.commands {
		b.WriteString("/" + c.name + " – " + c.does + "\n")
	}
	b.WriteString("\nEvery other command, such as /compact, goes to Claude. When Claude asks for permission, tap a button, " +
		"or reply to its message with yes, no, or what it should do instead.")
	return view.Note{Text: b.String()}
}

// reset forgets the conversation. Repeating reset changes nothing: the later messages of
// the chat wait for the answer. Each message ended by reset has a separate outcome.
func (o *Options) reset(ctx context.Context, c Call) view.Note {
	switch err := o.Core.Reset(ctx, c.Address.Key()); {
	case errors.Is(err, core.ErrNotFound):
		return view.Note{Text: "There is nothing to forget: this chat has no conversation yet."}
	case err != nil:
		return o.failed(ctx, "forget the conversation", err)
	}
	return view.Note{Text: "Forgotten. Your next message begins a new conversation; this chat keeps its model, mode and rules."}
}

const menuPause = 30 * time.Second

// RegisterMenu registers the menu of commands, and retries until Telegram accepts the
// menu or ctx ends.
func (h *Handler) RegisterMenu(ctx context.Context) {
	for failures := 1; ctx.Err() == nil; failures++ {
		h.Sender.Cooldowns.Await(ctx, outbox.Menu)
		err := h.RegisterMenuOnce(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		h.Sender.Cooldowns.Note(outbox.Menu, err)
		h.Log.Warn("telegram: the menu is not registered", "err", h.Sender.Client.CleanError("register commands", err))
		_ = wait.Sleep(ctx, max(throttle.Backoff(failures, menuPause), botapi.RetryAfter(err)))
	}
}

// RegisterMenuOnce registers the menu of commands, unless the menu is registered
// already.
func (h *Handler) RegisterMenuOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, botapi.CallTimeout)
	defer cancel()
	var menu []models.BotCommand
	for _, c := range h.commands {
		menu = append(menu, models.BotCommand{Command: c.name, Description: c.does})
	}
	have, err := h.Sender.Client.GetMyCommands(ctx, &bot.GetMyCommandsParams{})
	if err != nil || slices.Equal(have, menu) {
		return err
	}
	_, err = h.Sender.Client.SetMyCommands(ctx, &bot.SetMyCommandsParams{Commands: menu})
	return err
}

// ownChat restricts a button to the messages of the button's chat: the data of a tap can
// be forged.
func (o *Options) ownChat(do chats.Action) chats.Action {
	return func(ctx context.Context, t chats.Tap) string {
		if m, err := o.Core.Message(ctx, core.MessageID(t.Arg)); err == nil && !o.Moves.InChat(t.Address, m.Channel) {
			return chats.ButtonGone
		}
		return do(ctx, t)
	}
}

// Tapped handles and answers a tap of an allowed user.
func (h *Handler) Tapped(ctx context.Context, key string, q *models.CallbackQuery) {
	t := chats.Tap{Key: key, User: q.From}
	t.Verb, t.Arg, _ = strings.Cut(q.Data, ":")
	if m := q.Message.Message; m != nil {
		t.Address, t.Message = chats.AddressOf(m), m.ID
	} else if m := q.Message.InaccessibleMessage; m != nil {
		t.Address, t.Message, t.Stale = chats.Address{Chat: m.Chat.ID}, m.MessageID, true
	}
	t.Address = h.Moves.Present(t.Address)
	answer := chats.ButtonGone
	if do := h.actions[t.Verb]; do != nil {
		answer = do(ctx, t)
	}
	if h.Sender.Cooldowns.Left(outbox.Taps) > 0 {
		return // the action counts; a late answer is of no use
	}
	err := h.Sender.Call(botapi.CallTimeout, func(ctx context.Context) error {
		_, err := h.Sender.Client.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{
			CallbackQueryID: q.ID, Text: mdtext.Brief(answer, view.ToastShown),
		})
		return err
	})
	h.Sender.Cooldowns.Note(outbox.Taps, err)
	if err != nil && ctx.Err() == nil {
		h.Log.Debug("telegram: tap not answered", "err", err) // after a restart the tap may be too old
	}
}

// setting returns the action of a button that changes a setting and shows the new state
// in the button's message.
func (o *Options) setting(set func(context.Context, chats.Address, string) view.Note) chats.Action {
	return func(ctx context.Context, t chats.Tap) string {
		if t.Stale {
			return "This message is too old for its buttons. Send the command again."
		}
		o.edit(ctx, t, set(ctx, t.Address, t.Arg))
		return ""
	}
}

func (o *Options) edit(ctx context.Context, t chats.Tap, n view.Note) {
	o.Out.Edit(ctx, "edit:"+t.Key, t.Address.Key(), outbox.Edit{Message: t.Message, Note: n})
}
