// Package base holds what all components of the Telegram adapter use of the adapter itself: its
// records, and its goroutines, whose panics base contains.
package base

import (
	"context"
	"log/slog"
	"sync"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
	"bareclaw/internal/guard"
	"bareclaw/internal/wait"
)

// A Base holds what the components of an adapter share.
type Base struct {
	Bot     int64 // id of the bot
	Records *records.Store
	Work    *Group
	Log     *slog.Logger
	Moves   *chats.Moves
}

// New returns the base of an adapter that keeps its records in a ledger.
func New(ledger records.Ledger, bot int64, log *slog.Logger) *Base {
	return &Base{
		Bot:     bot,
		Records: records.New(ledger, log),
		Work:    NewGroup(log),
		Log:     log,
		Moves:   &chats.Moves{},
	}
}

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
