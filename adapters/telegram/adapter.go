// Package telegram is the adapter for Telegram: chats and topics are channels.
//
// The adapter records an update before acknowledging the update to Telegram, to lose
// nothing and to run nothing twice. The adapter keeps every outcome as a recorded
// delivery until Telegram accepts the delivery, and obeys only the allowed users.
//
// The path of an update: the poller receives and records the update, the intake keeps
// the order of each conversation, and the receiver submits a message, or passes the
// message to package commands or approvals. The path of an outcome: the core records a
// delivery, which package outbox composes and sends in order. Package live shows a turn meanwhile.
package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bareclaw/adapters"
	"bareclaw/adapters/telegram/approvals"
	"bareclaw/adapters/telegram/base"
	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	botcommands "bareclaw/adapters/telegram/commands"
	"bareclaw/adapters/telegram/inbound"
	"bareclaw/adapters/telegram/live"
	"bareclaw/adapters/telegram/media"
	"bareclaw/adapters/telegram/media/sendfile"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/core/commands"
	"bareclaw/core/progress"
	"bareclaw/internal/wait"
)

// Names used by the daemon: see [chats.Name] and [chats.Prefix].
const (
	Name   = chats.Name
	Prefix = chats.Prefix
)

const pruneEvery = time.Hour

// Options hold the dependencies and settings of an adapter. Core, Commands, Push, Log, Token,
// Allowed and StateDir are required.
type Options struct {
	Core     adapters.Core
	Commands *commands.Table
	Push     *core.PushRegistry
	Log      *slog.Logger

	Token   string  // of the bot; never logged
	API     string  // base URL of the Bot API; empty means botapi.DefaultAPI
	Allowed []int64 // users obeyed by the bot

	StateDir string // parent directory of the media files
	LockFile string // held while polling, to have a single polling process; empty: none
	Holder   int    // process id in LockFile: the process that a person would stop

	FileOver    int           // an answer of more messages is sent as a file; 0 means 5
	MediaMaxAge time.Duration // how long received files are kept; 0 means forever
	Transcribe  string        // command that transcribes voice messages; empty: none
	SendRoots   []string      // directories of files allowed to be sent, besides the media directory
	CWD         string        // directory of the agent; files in CWD may be sent
	Withheld    []string      // directories of files never sent

	// Shown decodes a line of the agent into events for display.
	Shown func(line json.RawMessage) []core.DisplayEvent
	// Inert returns a text of others so that it means nothing to the agent's program; nil: the
	// text as it is.
	Inert func(text string) string
	// Restart restarts the gateway; see /restart.
	Restart func(context.Context) error
	Version string // of the gateway, for people
	Agent   string // name of the agent, for people

	PollTimeout time.Duration // how long Telegram may hold an empty poll; 0 means 50 s
	HTTP        *http.Client  // nil: a new client
}

// An Adapter serves the chats of one bot. Its methods are safe for concurrent use.
type Adapter struct {
	o         Options
	env       *base.Base
	health    *health
	chats     *chatBook
	sender    *outbox.Sender
	out       *outbox.Outbox
	live      *live.Views
	approvals *approvals.Handler
	commands  *botcommands.Handler
	files     *media.Downloader
	receiver  *receiver
	intake    *intake
	poller    *poller
	pusher    *pusher
}

// New returns an adapter that serves nothing before Run, but accepts pushes: early
// pushes wait for Run. New makes no network call.
func New(o Options) (*Adapter, error) {
	o.API = strings.TrimRight(cmp.Or(o.API, botapi.DefaultAPI), "/")
	o.PollTimeout = cmp.Or(o.PollTimeout, 50*time.Second)
	o.FileOver = cmp.Or(o.FileOver, 5)
	if o.Inert == nil {
		o.Inert = func(text string) string { return text }
	}
	id, _, _ := strings.Cut(o.Token, ":")
	bot, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil, errors.New("telegram: the token does not begin with the bot's id") // err would show the token
	}
	client, err := botapi.New(botapi.Options{Token: o.Token, API: o.API, PollTimeout: o.PollTimeout, HTTP: o.HTTP})
	if err != nil {
		return nil, err
	}
	a := &Adapter{o: o, env: base.New(o.Core.Records, bot, o.Log), health: &health{pollTimeout: o.PollTimeout}}
	a.chats = newChatBook(a.env, o.Allowed, o.Inert)
	a.wireOutgoing(client)
	a.wireIncoming(client)
	o.Push.Register(Prefix, a.pusher.push)
	return a, nil
}

func (a *Adapter) wireOutgoing(client *botapi.Client) {
	o := &a.o
	mediaDir := filepath.Join(o.StateDir, "media")
	uploads := &media.Uploader{
		Log: o.Log,
		Policy: sendfile.Policy{
			Base:     o.CWD,
			Media:    mediaDir,
			Roots:    append([]string{o.CWD}, o.SendRoots...),
			Withheld: o.Withheld,
		},
	}
	a.sender = outbox.NewSender(client, a.env)
	a.out = outbox.New(a.env, o.Core.Deliveries, a.sender, o.FileOver)
	outbox.Compose(a.out, core.DeliverReply, a.composeReply)
	outbox.Compose(a.out, core.DeliverBackground, func(_ context.Context, _ core.Delivery, b core.BackgroundBody) ([]outbox.Part, error) {
		return a.out.AnswerParts(b.Text, 0, 0), nil
	})
	a.live = live.New(live.Options{
		Base:     a.env,
		Feeds:    o.Core.Feeds,
		Messages: o.Core.Messages,
		Channels: o.Core.Channels,
		Out:      a.out,
		Sender:   a.sender,
		Progress: progress.Options{Show: o.Shown, Dir: o.CWD},
	})
	a.approvals = approvals.New(approvals.Options{
		Base:       a.env,
		Decider:    o.Core.Decider,
		Messages:   o.Core.Messages,
		Deliveries: o.Core.Deliveries,
		Out:        a.out,
	})
	a.pusher = newPusher(a.env, o.Core.Deliveries, a.out, uploads, a.chats, a.health)
	a.commands = botcommands.New(botcommands.Options{
		Base:      a.env,
		Lanes:     o.Core.Lanes,
		Messages:  o.Core.Messages,
		Channels:  o.Core.Channels,
		Decider:   o.Core.Decider,
		Table:     o.Commands,
		Out:       a.out,
		Sender:    a.sender,
		Live:      a.live,
		Approvals: a.approvals,
		Version:   o.Version,
		Agent:     o.Agent,
		Restart:   o.Restart,
		BotName:   a.health.name,
		RunEdited: func(ctx context.Context, t chats.Tap) string { return a.receiver.runEdited(ctx, t) },
	})
	a.files = &media.Downloader{Client: client, Cooldowns: a.sender.Cooldowns, Dir: mediaDir, Log: o.Log}
}

func (a *Adapter) wireIncoming(client *botapi.Client) {
	o := &a.o
	reader := &inbound.Reader{Downloader: a.files, Sender: a.sender, Transcribe: o.Transcribe, BotName: a.health.name, Inert: o.Inert, Log: o.Log}
	a.receiver = &receiver{
		env:      a.env,
		core:     &o.Core,
		commands: a.commands,
		live:     a.live,
		out:      a.out,
		chats:    a.chats,
		reader:   reader,
		bot:      a.health.name,
	}
	a.intake = newIntake(a.receiver, a.env)
	a.poller = &poller{
		env:      a.env,
		inbox:    o.Core.Inbox,
		client:   client,
		sender:   a.sender,
		chats:    a.chats,
		health:   a.health,
		intake:   a.intake,
		timeout:  o.PollTimeout,
		lockFile: o.LockFile,
		holder:   o.Holder,
		stale:    staleOffset,
	}
}

// Prepare subscribes to the conversations left open by an earlier process. The daemon
// calls Prepare once, before the core recovers.
func (a *Adapter) Prepare(ctx context.Context) error { return a.live.Prepare(ctx) }

// Run serves, after Prepare, until ctx ends, and returns when no goroutine runs any
// more. Failures of the network or the bot do not end Run; see Health.
func (a *Adapter) Run(ctx context.Context) error {
	if err := a.run(ctx); err != nil && ctx.Err() == nil {
		a.health.failed("Telegram is not served: " + err.Error())
		return err
	}
	return nil
}

func (a *Adapter) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	a.env.Work.Begin(ctx)
	defer a.env.Work.Wait()
	defer cancel()
	if err := a.resume(ctx); err != nil {
		return err
	}
	a.commands.ReportRestart(ctx)
	a.approvals.AskPending(ctx)
	a.env.Work.Go(a.commands.KeepMenu)
	a.env.Work.Go(a.pruneRecords)
	a.env.Work.Go(func(ctx context.Context) { a.files.Prune(ctx, a.o.MediaMaxAge) })
	a.poller.poll(ctx)
	return nil
}

func (a *Adapter) resume(ctx context.Context) error {
	err := a.chats.load(ctx, a.health)
	if err == nil {
		err = a.sender.Resume(ctx)
	}
	if err != nil {
		return err
	}
	a.live.ResumeLeft()
	if err := a.o.Core.Deliveries.Consume(ctx, Name, a.route); err != nil {
		return fmt.Errorf("telegram: read pending deliveries: %w", err)
	}
	a.out.Start()
	return a.poller.resumeUnhandled(ctx)
}

// Close ends the calls blocked on the adapter, such as a push. The daemon calls Close
// when the next process can serve the callers.
func (a *Adapter) Close() { a.pusher.close() }

// route queues a delivery. An outcome waits until the view of the conversation has
// queued the earlier deliveries.
func (a *Adapter) route(d core.Delivery) {
	if d.Kind != core.DeliverReply || !a.live.Hold(d) {
		a.out.Add(d)
	}
}

// CheckRecipient refuses channels closed to sending: the agent must not reach people
// without access either.
func (a *Adapter) CheckRecipient(ctx context.Context, key core.ChannelKey) error {
	return a.chats.checkRecipient(ctx, key)
}

func (a *Adapter) pruneRecords(ctx context.Context) {
	for ctx.Err() == nil {
		a.env.Records.Warn(ctx, "old records are kept", a.o.Core.Records.ForgetRecords(ctx, records.Expired(time.Now())...))
		_ = wait.Sleep(ctx, pruneEvery)
	}
}

func (a *Adapter) composeReply(ctx context.Context, d core.Delivery, _ struct{}) ([]outbox.Part, error) {
	m, err := a.o.Core.Messages.Message(ctx, d.Message)
	if err != nil {
		return nil, fmt.Errorf("compose the reply to %s: %w", d.Message, err)
	}
	r := m.Reply
	if r.Coalesced { // and the message with the text is not delivered by this adapter
		carrier, err := a.o.Core.Messages.Message(ctx, r.Into)
		if err != nil {
			return nil, fmt.Errorf("compose the reply to %s: %w", d.Message, err)
		}
		r.Text = carrier.Reply.Text
	}
	stopped, err := a.commands.StoppedText(ctx, &m)
	if err != nil {
		return nil, err
	}
	r.Text = cmp.Or(stopped, r.Text)
	replace, replyTo := 0, 0
	if _, err := a.env.Records.Get(ctx, records.RecordAdopted+d.ID, &replace); err != nil {
		return nil, err
	}
	if to, ok := chats.ParseAddress(d.Channel); ok && (to.Group() || r.State != core.Answered) {
		replyTo = a.env.Records.SourceOf(ctx, d.Message)
	}
	parts := a.out.AnswerParts(view.Reply(&r), replace, replyTo)
	if text, ok := parts[len(parts)-1].(*outbox.Text); ok {
		text.Buttons = view.Remedies(&m)
	}
	return parts, nil
}
