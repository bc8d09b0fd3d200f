// Package telegram is the adapter for Telegram: chats and topics are channels.
//
// The adapter records an update before acknowledging the update to Telegram, to lose
// nothing and to run nothing twice. The adapter keeps every outcome as a recorded
// delivery until Telegram accepts the delivery, and obeys only the allowed users.
//
// The path of an update: the poller receives and records the update, the intake keeps
// the order of each conversation, and the receiver submits a message, or passes the
// message to package commands or approvals. The path of an outcome: the core records a
// delivery, the composer makes the messages, and package outbox sends the messages in
// order. Package live shows a turn meanwhile.
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

	"bareclaw/adapters/telegram/approvals"
	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/commands"
	"bareclaw/adapters/telegram/inbound"
	"bareclaw/adapters/telegram/live"
	"bareclaw/adapters/telegram/media"
	"bareclaw/adapters/telegram/media/sendfile"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/core/adapterstore"
	"bareclaw/core/feed"
	"bareclaw/core/lanes"
	"bareclaw/core/settings"
)

// Names used by the daemon: see [chats.Name] and [chats.Prefix].
const (
	Name   = chats.Name
	Prefix = chats.Prefix
)

// pruneEvery is the time between two removals of old records.
const pruneEvery = time.Hour

// Inbox is the part of the core that stores updates until they are handled.
type Inbox interface {
	Receive(ctx context.Context, in []*core.Inbound) error
	Handled(ctx context.Context, ids ...string) error
	Unhandled(ctx context.Context, adapter string) ([]core.Inbound, error)
	LastInbound(ctx context.Context, adapter string) (core.Inbound, error)
}

// Submitter is the part of the core that accepts and changes messages.
type Submitter interface {
	Submit(ctx context.Context, s core.Submission) (*core.Ticket, error)
	Amend(ctx context.Context, id core.MessageID, c core.Content) error
}

// Deliveries is the part of the core that hands over deliveries.
type Deliveries interface {
	OnDelivery(adapter string, f func(core.Delivery))
	PendingDeliveries(ctx context.Context, adapter string) ([]core.Delivery, error)
}

// Core is the part of the core used by the adapter.
type Core interface {
	Inbox
	Submitter
	Deliveries
	records.Ledger
	records.Pruner
	outbox.Ledger
	live.Channels
	live.Ledger
	approvals.Approvals
	approvals.Messages
	commands.Core
}

// CoreOf returns the components of a manager used by the adapter.
func CoreOf(m *lanes.Manager) Core {
	return struct {
		*lanes.Manager
		*lanes.Lookup
		*lanes.Directory
		*lanes.Decider
		*settings.Cache
		*adapterstore.Store
		*feed.Broker
	}{m, m.Lookup, m.Directory, m.Decider, m.ChannelSettings, m.Adapters, m.Feeds}
}

// Options hold the dependencies and settings of an adapter. Core, Push, Log, Token,
// Allowed and StateDir are required.
type Options struct {
	Core Core
	Push *core.PushRegistry
	Log  *slog.Logger

	Token   string  // of the bot; never logged
	API     string  // base URL of the Bot API; empty means botapi.DefaultAPI
	Allowed []int64 // users obeyed by the bot

	StateDir string // parent directory of the media files
	LockFile string // held while polling, to have a single polling process; empty: none

	FileOver    int           // an answer of more messages is sent as a file; 0 means 5
	MediaMaxAge time.Duration // how long received files are kept; 0 means forever
	Transcribe  string        // command that transcribes voice messages; empty: none
	SendRoots   []string      // directories of files allowed to be sent, besides the media directory
	CWD         string        // directory of the agent; files in CWD may be sent
	Withheld    []string      // directories of files never sent

	// Shown decodes a line of the agent into events for display.
	Shown func(line json.RawMessage) []core.DisplayEvent
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
	work      *tasks.Group
	records   *records.Store
	health    *health
	chats     *chatCache
	sender    *outbox.Sender
	out       *outbox.Outbox
	live      *live.Views
	approvals *approvals.Handler
	commands  *commands.Handler
	files     *media.Downloader
	receiver  *receiver
	intake    *intake
	poller    *poller
	pusher    *pusher
	composer  *composer
}

// New returns an adapter that serves nothing before Run, but accepts pushes: early
// pushes wait for Run. New makes no network call.
func New(o Options) (*Adapter, error) {
	o.API = strings.TrimRight(cmp.Or(o.API, botapi.DefaultAPI), "/")
	o.PollTimeout = cmp.Or(o.PollTimeout, 50*time.Second)
	o.FileOver = cmp.Or(o.FileOver, 5)
	id, _, _ := strings.Cut(o.Token, ":")
	bot, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil, errors.New("telegram: the token does not begin with the bot's id") // err would show the token
	}
	client, err := botapi.New(botapi.Options{Token: o.Token, API: o.API, PollTimeout: o.PollTimeout, HTTP: o.HTTP})
	if err != nil {
		return nil, err
	}
	a := &Adapter{o: o, work: tasks.NewGroup(o.Log), records: records.New(o.Core, o.Log), health: &health{pollTimeout: o.PollTimeout}}
	a.chats = newChatCache(a.records, o.Allowed)
	a.wireOutgoing(client)
	a.wireIncoming(client, bot)
	o.Push.Register(Prefix, a.pusher.push)
	return a, nil
}

// wireOutgoing makes the sending components.
func (a *Adapter) wireOutgoing(client *botapi.Client) {
	o := &a.o
	mediaDir := filepath.Join(o.StateDir, "media")
	uploads := &media.Uploader{Log: o.Log, Policy: sendfile.Policy{
		Base: o.CWD, Media: mediaDir, Roots: append([]string{o.CWD}, o.SendRoots...), Withheld: o.Withheld,
	}}
	a.sender = outbox.NewSender(client, a.records, a.work, o.Log)
	c := &composer{core: o.Core, store: a.records, fileOver: o.FileOver}
	a.composer = c
	a.out = outbox.New(outbox.Options{
		Ledger: o.Core, Sender: a.sender, Store: a.records, Work: a.work, Log: o.Log, Compose: c.compose, Moves: &a.chats.Moves,
	})
	a.live = live.New(live.Options{
		Channels: o.Core, Ledger: o.Core, Out: a.out, Sender: a.sender, Store: a.records, Work: a.work, Log: o.Log, Moves: &a.chats.Moves,
		Show: o.Shown, Dir: o.CWD,
	})
	a.approvals = approvals.New(approvals.Options{
		Approvals: o.Core, Messages: o.Core, Out: a.out, Store: a.records, Log: o.Log, Moves: &a.chats.Moves,
	})
	a.pusher = newPusher(o.Core, a.out, uploads, a.chats, a.health)
	c.out, c.live, c.approvals, c.pusher = a.out, a.live, a.approvals, a.pusher
	a.commands = commands.New(commands.Options{
		Core: o.Core, Out: a.out, Sender: a.sender, Store: a.records, Live: a.live, Approvals: a.approvals, Work: a.work, Log: o.Log,
		Gateway: view.Gateway{Version: o.Version, Agent: o.Agent, Began: time.Now()}, Restart: o.Restart, BotName: a.health.name,
		Moves: &a.chats.Moves, RunEdited: func(ctx context.Context, t chats.Tap) string { return a.receiver.runEdited(ctx, t) },
	})
	c.stoppedText = a.commands.StoppedText
	a.files = &media.Downloader{Client: client, Cooldowns: a.sender.Cooldowns, Dir: mediaDir, Log: o.Log}
}

// wireIncoming makes the receiving components.
func (a *Adapter) wireIncoming(client *botapi.Client, bot int64) {
	o := &a.o
	reader := &inbound.Reader{Downloader: a.files, Sender: a.sender, Transcribe: o.Transcribe, BotName: a.health.name, Log: o.Log}
	a.receiver = &receiver{
		core: o.Core, commands: a.commands, live: a.live, out: a.out, store: a.records, chats: a.chats, reader: reader, bot: a.health.name, log: o.Log,
	}
	a.intake = newIntake(a.receiver, a.work, o.Log)
	a.poller = &poller{
		inbox: o.Core, client: client, sender: a.sender, store: a.records, chats: a.chats, health: a.health, intake: a.intake, log: o.Log,
		bot: bot, timeout: o.PollTimeout, lockFile: o.LockFile, stale: staleOffset,
	}
}

// Prepare subscribes to the conversations left open by an earlier process. The daemon
// calls Prepare once, before the core recovers.
func (a *Adapter) Prepare(ctx context.Context) error { return a.live.Prepare(ctx) }

// Run serves, after Prepare, until ctx ends, and returns when no goroutine runs any
// more. Failures of the network or the bot do not end Run; see Health.
func (a *Adapter) Run(ctx context.Context) error {
	err := a.run(ctx)
	if err != nil && ctx.Err() == nil {
		a.health.failed("Telegram is not served: " + err.Error())
	}
	return err
}

func (a *Adapter) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	a.work.Begin(ctx)
	defer a.work.Wait()
	defer cancel()
	a.o.Core.OnDelivery(Name, a.onDelivery)
	if err := a.resume(ctx); err != nil {
		return err
	}
	a.commands.ReportRestart(ctx)
	a.approvals.AskPending(ctx)
	a.work.Go(a.commands.RegisterMenu)
	a.work.Go(a.pruneRecords)
	a.work.Go(func(ctx context.Context) { a.files.Prune(ctx, a.o.MediaMaxAge) })
	a.poller.poll(ctx)
	return nil
}

// resume continues the unfinished work of earlier processes.
func (a *Adapter) resume(ctx context.Context) error {
	err := a.chats.load(ctx, a.health)
	if err == nil {
		err = a.sender.Resume(ctx)
	}
	if err != nil {
		return err
	}
	a.live.ResumeLeft()
	pending, err := a.o.Core.PendingDeliveries(ctx, Name)
	if err != nil {
		return fmt.Errorf("telegram: read pending deliveries: %w", err)
	}
	a.out.Start(pending, a.route)
	if err := a.live.FinalizeLeft(ctx); err != nil {
		return err
	}
	return a.poller.resumeUnhandled(ctx)
}

// Close ends the calls blocked on the adapter, such as a push. The daemon calls Close
// when the next process can serve the callers.
func (a *Adapter) Close() { a.pusher.close() }

// onDelivery accepts a delivery recorded by the core.
func (a *Adapter) onDelivery(d core.Delivery) {
	if !a.out.Buffer(d) {
		a.route(d)
	}
}

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

// Health returns the state of the adapter without blocking.
func (a *Adapter) Health() Health {
	h := a.health.report()
	h.Failed, h.Pending = a.out.Failed(), a.out.Pending()
	return h
}

// pruneRecords removes old records every pruneEvery, until ctx ends.
func (a *Adapter) pruneRecords(ctx context.Context) {
	for ctx.Err() == nil {
		a.records.Warn(ctx, "old records are kept", a.o.Core.ForgetRecords(ctx, records.Expired(time.Now())...))
		tasks.Pause(ctx, pruneEvery)
	}
}
