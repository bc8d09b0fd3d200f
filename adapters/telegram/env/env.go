// Package env holds what all components of the Telegram adapter use: the core, the state
// needed after a restart (a few bytes each, in the ledger, under keys beginning with the
// kind of record), and the goroutines, whose panics env contains.
package env

import (
	"log/slog"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/core/adapterstore"
	"bareclaw/core/feed"
	"bareclaw/core/lanes"
	"bareclaw/core/settings"
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
	Records *Store
	Work    *Group
	Log     *slog.Logger
	Moves   *chats.Moves
}

// New returns the dependencies of an adapter that serves the channels of a manager.
func New(m *lanes.Manager, log *slog.Logger) *Env {
	return &Env{
		Core:    Core{m, m.Lookup, m.Directory, m.Decider, m.ChannelSettings, m.Adapters, m.Feeds},
		Records: &Store{m.Adapters, log}, Work: NewGroup(log), Log: log, Moves: &chats.Moves{},
	}
}
