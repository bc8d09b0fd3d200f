// Package env holds what all components of the Telegram adapter use: the core, the state
// needed after a restart (a few bytes each, in the ledger, under keys beginning with the
// kind of record), and the goroutines, whose panics env contains.
package env

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/core"
	"bareclaw/core/adapterstore"
	"bareclaw/core/feed"
	"bareclaw/core/lanes"
	"bareclaw/core/settings"
	"bareclaw/internal/guard"
	"bareclaw/internal/wait"
)

// A Core has the methods of all components of a manager.
type Core struct {
	*lanes.Manager
	*lanes.Lookup
	*lanes.Directory
	*lanes.Decider
	*settings.Cache
	*adapterstore.Store
	*feed.Broker
}

// An Env holds the dependencies shared by the components of an adapter.
type Env struct {
	Core
	Bot     int64 // id of the bot
	Records *Store
	Work    *Group
	Log     *slog.Logger
	Moves   *chats.Moves
}

// New returns the dependencies of an adapter that serves the channels of a manager by a bot.
func New(m *lanes.Manager, bot int64, log *slog.Logger) *Env {
	return &Env{
		Bot:     bot,
		Core:    Core{m, m.Lookup, m.Directory, m.Decider, m.ChannelSettings, m.Adapters, m.Feeds},
		Records: &Store{m.Adapters, log}, Work: NewGroup(log), Log: log, Moves: &chats.Moves{},
	}
}

// StoragePause is the time between two attempts to write to the ledger.
const StoragePause = time.Second

// A Group is the set of goroutines that end with the adapter. Its methods are safe for
// concurrent use after Begin has returned.
type Group struct {
	log *slog.Logger
	ctx context.Context
	wg  sync.WaitGroup
}

// NewGroup returns a group without goroutines.
func NewGroup(log *slog.Logger) *Group { return &Group{log: log, ctx: context.Background()} }

// Begin sets the context that ends the group's goroutines. Begin is called once, before
// Go.
func (g *Group) Begin(ctx context.Context) { g.ctx = ctx }

// Context returns the context that ends the group's goroutines.
func (g *Group) Context() context.Context { return g.ctx }

// Ended reports whether the group's context has ended.
func (g *Group) Ended() bool { return g.ctx.Err() != nil }

// Go runs f in a goroutine. A panic of f is logged and ends only f.
func (g *Group) Go(f func(context.Context)) {
	g.wg.Add(1)
	go func() { // ends with f, which ends with the group's context
		defer g.wg.Done()
		_ = guard.Do(g.log, "running in the background", func() error { f(g.ctx); return nil })
	}()
}

// Wait returns when all goroutines have ended.
func (g *Group) Wait() { g.wg.Wait() }

// A Task is a goroutine that can be cancelled. The nil Task has ended.
type Task struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// Start is Go for a goroutine that can be cancelled.
func (g *Group) Start(f func(context.Context)) *Task {
	ctx, cancel := context.WithCancel(g.ctx)
	t := &Task{cancel: cancel, done: make(chan struct{})}
	g.Go(func(context.Context) {
		defer close(t.done)
		defer cancel()
		f(ctx)
	})
	return t
}

// Cancel ends the context of the goroutine, and returns when the goroutine or ctx has
// ended.
func (t *Task) Cancel(ctx context.Context) {
	if t == nil {
		return
	}
	t.cancel()
	select {
	case <-t.done:
	case <-ctx.Done():
	}
}

// Running reports whether the goroutine has not ended.
func (t *Task) Running() bool { return t != nil && !wait.IsClosed(t.done) }

// IsStorage reports whether the ledger could not be written.
func IsStorage(err error) bool {
	return errors.Is(err, core.ErrStorage) || errors.Is(err, core.ErrStorageFull)
}

// UntilRecorded calls f until the ledger can be written, ctx ends, or f fails for
// another reason. UntilRecorded calls waiting, if not nil, before each pause.
func UntilRecorded(ctx context.Context, f func() error, waiting func(error)) error {
	for {
		err := f()
		if !IsStorage(err) || ctx.Err() != nil {
			return err
		}
		if waiting != nil {
			waiting(err)
		}
		_ = wait.Sleep(ctx, StoragePause)
	}
}
