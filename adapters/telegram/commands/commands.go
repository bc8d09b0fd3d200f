// Package commands handles commands for the gateway itself, and the taps on the bot's buttons. The
// commands are those of the gateway's table, and the bot's own. All further commands go to Claude.
package commands

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"bareclaw/adapters/telegram/approvals"
	"bareclaw/adapters/telegram/base"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/live"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/core/commands"
	"bareclaw/internal/mdtext"

	"github.com/go-telegram/bot/models"
)

// Lanes take messages, and end turns and conversations.
type Lanes interface {
	Submit(ctx context.Context, s core.Submission) (*core.Ticket, error)
	Interrupt(ctx context.Context, key core.ChannelKey, turn core.TurnID) (core.Interruption, error)
	Reset(ctx context.Context, key core.ChannelKey) error
}

// Messages finds messages.
type Messages interface {
	Message(ctx context.Context, id core.MessageID) (core.Message, error)
	OpenMessages(ctx context.Context, adapter string) ([]core.Message, error)
}

// Channels tells about channels.
type Channels interface {
	Present(ctx context.Context, key core.ChannelKey) (core.ChannelStatus, error)
}

// A Decider says what a failed message is tried again with.
type Decider interface {
	Resubmission(ctx context.Context, id core.MessageID) (core.Submission, core.Message, error)
}

// Options hold the dependencies of a Handler. All are required, except Restart.
type Options struct {
	*base.Base
	Lanes     Lanes
	Messages  Messages
	Channels  Channels
	Decider   Decider
	Table     *commands.Table
	Out       *outbox.Outbox
	Sender    *outbox.Sender
	Live      *live.Views
	Approvals *approvals.Handler
	Version   string // of the gateway
	Agent     string // name of the agent
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
	actions map[string]chats.Action // by the verb of the button
}

// New returns a handler.
func New(o Options) *Handler {
	h := &Handler{
		Options:  &o,
		stops:    &stops{&o},
		restarts: &restarts{&o},
	}
	h.actions = h.buttons()
	return h
}

// Rows returns the commands of the bot in the order of the menu: those of a table, and the bot's own,
// which keep in a store what they set. A row without Show and Run is answered by a Handler alone.
func Rows(table *commands.Table, store *records.Store) []commands.Command {
	restart := commands.Command{
		Name: "restart",
		Help: "restart the gateway",
	}
	rows := slices.Clone(table.All())
	rows = insertBefore(rows, "rules", verbosity{store}.command())
	rows = insertBefore(rows, "help", restart)
	for i := range rows {
		if rows[i].Name == "why" {
			rows[i].Help += ": reply to it"
		}
	}
	return rows
}

// rows returns the present commands of the bot.
func (h *Handler) rows() []commands.Command { return Rows(h.Table, h.Records) }

// insertBefore inserts a row before the row with a name, or at the end.
func insertBefore(rows []commands.Command, name string, row commands.Command) []commands.Command {
	i := slices.IndexFunc(rows, func(c commands.Command) bool { return c.Name == name })
	if i < 0 {
		i = len(rows)
	}
	return slices.Insert(rows, i, row)
}

// A Call is a command of an allowed user.
type Call struct {
	Key        string // source key
	Address    chats.Address
	Message    *models.Message
	ReceivedAt time.Time // by the clock of the local machine
	arg        string
}

// shared returns the call as the commands of every chat know it.
func (c *Call) shared() commands.Call {
	return commands.Call{
		Channel: c.Address.Key(),
		Person:  chats.FullName(c.Message.From),
		Arg:     c.arg,
	}
}

// A messageFunc answers a call that a message makes. After a crash, it may be called again if the
// answer was not recorded.
type messageFunc func(context.Context, Call) (commands.Note, error)

// A command is a row of the menu. Calls of buttons are answered by the row itself.
type command struct {
	commands.Command
	onMessage messageFunc
}

// onMessage returns what answers messages that call a row: a method of h, where the answer depends on
// more than the call, else the row.
func (h *Handler) onMessage(row commands.Command) messageFunc {
	switch row.Name {
	case "stop":
		return h.stop
	case "why":
		return h.why
	case "restart":
		return h.restart
	case "help":
		return h.help
	}
	return func(ctx context.Context, c Call) (commands.Note, error) {
		return row.Answer(ctx, c.shared())
	}
}

// find returns the command with a name, whose letters may be of either case.
func (h *Handler) find(name string) (command, bool) {
	if strings.EqualFold(name, "start") { // sent by Telegram itself, and in no menu
		return command{onMessage: start}, true
	}
	for _, row := range h.rows() {
		if strings.EqualFold(row.Name, name) {
			return command{row, h.onMessage(row)}, true
		}
	}
	return command{}, false
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
// approval. Handle returns false if the message is for Claude: a command may have put another text
// in its place.
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
	n, err := cmd.onMessage(ctx, c)
	if err != nil {
		n.Text = h.failed(ctx, err)
	}
	if n.Prompt != "" {
		c.Message.Text = n.Prompt
		c.Message.Entities = nil
		return false
	}
	text := n.Whole()
	if text != "" && ctx.Err() == nil {
		answer := view.NoteOf(text, &n)
		answer.ReplyTo = c.Message.ID
		h.Out.Say(ctx, answerID(c.Key), c.Address.Key(), answer)
	}
	return true
}

// A CallError says that a message calls a prompt that has no text for the agent, as for want of an argument.
type CallError struct {
	Answer string // Markdown, as the bot answers such a message
}

// Error returns the answer.
func (e *CallError) Error() string { return e.Answer }

// Prompted returns a message with the text for the agent in the place of a command that has a prompt, and
// every other message as it is. The error is a *CallError, or the cause of ctx.
func (h *Handler) Prompted(ctx context.Context, to chats.Address, m *models.Message) (*models.Message, error) {
	name, _, arg, ok := parse(m, h.BotName())
	if !ok {
		return m, nil
	}
	cmd, ok := h.find(name)
	if !ok || cmd.Prompt == nil {
		return m, nil
	}
	c := Call{
		Address: to,
		Message: m,
		arg:     arg,
	}
	n, err := cmd.onMessage(ctx, c)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &CallError{h.failed(ctx, err)}
	case n.Prompt == "":
		return nil, &CallError{n.Whole()}
	}
	prompted := *m
	prompted.Text = n.Prompt
	prompted.Entities = nil
	return &prompted, nil
}

func answerID(key string) string { return "cmd:" + key }

// parse parses a command: /name@of arg, optionally after the bot's user name. A
// forwarded command is not a command, but part of a conversation about the command.
func parse(m *models.Message, bot string) (name, of, arg string, ok bool) {
	if m == nil || m.ForwardOrigin != nil {
		return "", "", "", false
	}
	text := m.Text
	if strings.HasPrefix(text, "@") {
		text = chats.Unaddressed(text, bot)
	}
	name, arg, ok = commands.Parse(text)
	if !ok {
		return "", "", "", false
	}
	name, of, _ = strings.Cut(name, "@")
	return strings.ToLower(name), of, arg, name != ""
}

// IsStop reports whether a message is the command to stop the running turn.
func IsStop(m *models.Message, bot string) bool {
	name, _, _, ok := parse(m, bot)
	return ok && name == "stop"
}

// says answers a call with a text, which is Markdown.
func says(text string) (commands.Note, error) {
	return commands.Note{Text: text}, nil
}

// failed logs the failure of a command, and is the answer.
func (o *Options) failed(ctx context.Context, err error) string {
	doing := ""
	if f, ok := errors.AsType[*commands.Failure](err); ok {
		doing = f.Doing
		err = f.Err
	}
	o.Records.Error(ctx, "a command failed", err, "doing", doing)
	return "That did not work (" + doing + "): " + mdtext.Literal(err.Error())
}

// start answers the command sent by Telegram when a user opens the chat for the first
// time.
func start(context.Context, Call) (commands.Note, error) {
	const text = "This is BAREclaw: you write, and Claude works for you on the machine that this gateway runs on. " +
		"Each chat, and each topic of a group, is a conversation of its own.\n\n" +
		"Write what you want done, or send a file, a photo or a voice message. You can go on writing while Claude works; " +
		"it reads that next. /stop stops what is running, /new begins a new conversation, /help lists everything else."
	return says(text)
}

func (h *Handler) help(context.Context, Call) (commands.Note, error) {
	text := commands.Help(h.rows()) + " When Claude asks for permission, tap a button, " +
		"or reply to its message with yes, no, or what it should do instead."
	return says(text)
}

// why tells of the message that is replied to, or else of the last one of the chat.
func (h *Handler) why(ctx context.Context, c Call) (commands.Note, error) {
	c.arg = ""
	replied := c.Message.ReplyToMessage
	if replied != nil && !opensTopic(c) {
		link := h.Records.LinkOf(ctx, c.Address.Chat, replied.ID)
		if link.Message == "" {
			return says("It is not known which request this message belongs to. Reply to a message of yours, or to an answer.")
		}
		c.arg = string(link.Message)
	}
	row, _ := h.find("why")
	return row.Answer(ctx, c.shared())
}

// opensTopic reports whether a command replies to the message that opened the topic, as do
// all messages in a topic that reply to no other message.
func opensTopic(c Call) bool {
	m := c.Message
	return m.IsTopicMessage && m.ReplyToMessage.ID == m.MessageThreadID
}
