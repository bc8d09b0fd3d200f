// Package telegram is the adapter for Telegram: chats and topics are channels.
//
// What it promises: an update is on record before Telegram is told that it was
// received, so that nothing is lost and nothing runs twice; every outcome is a
// delivery on record until Telegram has taken it; and only the users it was told to
// listen to are heard. Everything it sends goes through one schedule.
//
// An update's way: the poller (poll.go) receives and records it, the intake
// (intake.go) keeps the order of each chat and lets chats be independent, and
// message.go, commands and buttons make of it what there is to be made. An
// outcome's way: the core records a delivery, the outbox (outbox.go) composes its
// parts (compose.go) and sends them in order. What happens meanwhile is shown by a
// follower for each chat with an open turn.
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
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/sendfile"
	"bareclaw/adapters/telegram/tasks"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/core"
)

// What the daemon names: see [chats.Name] and [chats.Prefix].
const (
	Name   = chats.Name
	Prefix = chats.Prefix
)

// Options are what the adapter works with. Core, Push, Log, Token, Allowed and
// StateDir are required.
type Options struct {
	Core *core.ProcessManager
	Push *core.PushRegistry
	Log  *slog.Logger

	Token   string  // of the bot; never logged
	API     string  // base URL of the Bot API; empty means DefaultAPI
	Allowed []int64 // users that are listened to

	StateDir string // media files are kept below it
	LockFile string // what no other process may hold while this one polls; empty: none

	FileOver    int           // an answer of more messages comes as a file; 0 means 5
	MediaMaxAge time.Duration // how long received files are kept; 0 means for ever
	Transcribe  string        // command that makes a text of a voice message; empty: none
	SendRoots   []string      // directories that files may be sent from, besides the media directory
	CWD         string        // the agent's directory: files may be sent from it
	Withheld    []string      // directories that no file is ever sent from

	// Shown says what a line of the agent shows to a person.
	Shown func(line json.RawMessage) []core.Shown
	// Restart starts the gateway anew; see /restart.
	Restart func(context.Context) error
	Version string // of the gateway, for people
	Agent   string // what answers, for people

	PollTimeout time.Duration // how long Telegram may hold an empty poll; 0 means 50 s
	HTTP        *http.Client  // nil: one of its own
}

// An Adapter serves the chats of one bot. Its methods are safe for concurrent use.
type Adapter struct {
	o       Options
	botID   int64
	allowed map[int64]bool
	client  *botapi.Client
	health  health
	intake  intake
	outbox  outbox
	began   time.Time
	// questions lets one change at a time be made to what is answered of a question.
	questions sync.Mutex
	sends     *throttle.Scheduler
	calls     calls
	cooldowns cooldowns

	gate      gate
	left      map[core.ChannelKey]*leftOpen // until Run follows them
	followers followers
	noDrafts  atomic.Bool
	showing   sync.Mutex // one record of a status line is changed at a time
	chats     chatbook
	loading   loading

	introduced bool          // who the bot is was asked; only the poller knows
	unrecorded unrecorded    // likewise
	stale      time.Duration // see staleOffset

	files    sendfile.Policy
	patience time.Duration // with a push that does not get through

	served  context.Context // ends by Close
	unserve context.CancelFunc

	work    *tasks.Group
	records *records.Store
}

// New returns an adapter that serves nothing yet, except that it takes pushes: those
// wait for Run. It asks nothing of the network.
func New(o Options) (*Adapter, error) {
	o.API = strings.TrimRight(cmp.Or(o.API, botapi.DefaultAPI), "/")
	o.PollTimeout = cmp.Or(o.PollTimeout, 50*time.Second)
	o.FileOver = cmp.Or(o.FileOver, 5)
	id, _, _ := strings.Cut(o.Token, ":")
	botID, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil, errors.New("telegram: the token does not begin with the bot's id") // the error would show it
	}
	a := &Adapter{o: o, botID: botID, allowed: map[int64]bool{}, patience: pushPatience, stale: staleOffset, began: time.Now()}
	for _, user := range o.Allowed {
		a.allowed[user] = true
	}
	if a.client, err = botapi.New(botapi.Options{Token: o.Token, API: o.API, PollTimeout: o.PollTimeout, HTTP: o.HTTP}); err != nil {
		return nil, err
	}
	a.intake.adapter, a.outbox.adapter = a, a
	a.work, a.records = tasks.NewGroup(o.Log), records.New(o.Core, o.Log)
	a.sends = throttle.New(throttle.Options{Classify: classify, InFlight: maxInFlight, Durable: throttle.Bounds{Age: deliverFor}, Log: o.Log})
	a.served, a.unserve = context.WithCancel(context.Background())
	a.files = sendfile.Policy{
		Base: o.CWD, Media: filepath.Join(o.StateDir, "media"), Roots: append([]string{o.CWD}, o.SendRoots...), Withheld: o.Withheld,
	}
	o.Push.Register(Prefix, a.push)
	return a, nil
}

// Run serves, after Prepare, until ctx ends, and returns when nothing is under way any
// more. It goes on whatever happens to the network or the bot; Health says how it does.
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
	sending, endSending := context.WithCancel(context.WithoutCancel(ctx))
	var sends sync.WaitGroup
	sends.Go(func() { _ = a.sends.Run(sending) }) // ends by endSending
	defer a.work.Wait()
	defer sends.Wait()
	defer endSending()
	defer a.calls.drain(leaveGrace)
	defer cancel()
	a.o.Core.OnDelivery(Name, a.handIn)
	if err := a.remember(ctx); err != nil {
		return err
	}
	if err := a.resumeCooldowns(ctx); err != nil {
		return err
	}
	a.followLeft()
	if err := a.takePending(ctx); err != nil {
		return err
	}
	if err := a.wrapUpLeft(ctx); err != nil {
		return err
	}
	if err := a.takeUp(ctx); err != nil {
		return err
	}
	a.tellBack(ctx)
	a.askAgain(ctx)
	a.work.Go(a.register)
	a.work.Go(a.pruneRecords)
	a.work.Go(a.sweepMedia)
	a.poll(ctx)
	return nil
}

// Close ends what waits for the adapter from outside, such as a push. It is called
// once whoever asked can be passed on to the next process.
func (a *Adapter) Close() { a.unserve() }

// takeUp handles what an earlier process has received and not handled.
func (a *Adapter) takeUp(ctx context.Context) error {
	left, err := a.o.Core.Unhandled(ctx, Name)
	if err != nil {
		return fmt.Errorf("telegram: take up what was received: %w", err)
	}
	for _, in := range left {
		if g := botapi.Peek(in.Body); a.allowed[g.Sender] {
			a.chats.heard(g.Chat)
		}
		a.intake.add(in)
	}
	return nil
}
