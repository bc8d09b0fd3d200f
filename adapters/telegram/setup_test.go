package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"bareclaw/adapters"
	"bareclaw/core"
	"bareclaw/core/adapterstore"
	"bareclaw/core/commands"
	"bareclaw/core/lanes"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/core/sessionfile"
	"bareclaw/internal/testkit/botapi"
)

// newAdapter returns an adapter for user 7 on a core with a ledger of its own, and an agent
// that cannot be started. The file a.txt is in the agent's directory.
func newAdapter(t *testing.T, changes ...func(*lanes.Options, *Options)) *Adapter {
	t.Helper()
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	l, err := sqlite.Open(filepath.Join(dir, "ledger.db"), log)
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := sessionfile.Open(filepath.Join(dir, "sessions.json"), log)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := lanes.Options{Ledger: l, Sessions: sessions, Agent: idleAgent{}, Log: log, QueueLimit: 100}
	o := Options{
		Push: &core.PushRegistry{}, Log: log, Token: botapi.DefaultToken, Allowed: []int64{7}, StateDir: filepath.Join(dir, "state"), CWD: dir,
		Shown: func(json.RawMessage) []core.DisplayEvent { return nil },
	}
	for _, change := range changes {
		change(&c, &o)
	}
	m := lanes.New(c)
	o.Core = adapters.Core{
		Lanes:      m,
		Messages:   m.Lookup,
		Channels:   m.Directory,
		Decider:    m.Decider,
		Feeds:      m.Feeds,
		Inbox:      m.Adapters,
		Deliveries: m.Adapters,
		Records:    m.Adapters,
	}
	o.Commands = table(t, m)
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Detach()
		_ = sessions.Close()
		_ = l.Close()
	})
	return a
}

// lookup returns the adapter's messages.
func lookup(a *Adapter) *lanes.Lookup { return a.o.Core.Messages.(*lanes.Lookup) }

// store returns the adapter's deliveries.
func store(a *Adapter) *adapterstore.Store { return a.o.Core.Deliveries.(*adapterstore.Store) }

// table returns the commands of the gateway.
func table(t *testing.T, m *lanes.Manager) *commands.Table {
	t.Helper()
	all, err := commands.NewTable(commands.Builtin(commands.Options{
		Channels: m.Directory,
		Messages: m.Lookup,
		Queue:    m,
		Sessions: m,
		Settings: m.ChannelSettings,
	})...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// on has the adapter talk to a Bot API server.
func on(api *botapi.Server) func(*lanes.Options, *Options) {
	return func(_ *lanes.Options, o *Options) { o.Token, o.API = api.Token(), api.URL() }
}

// serve runs an adapter until the end of the test, and returns the adapter, the Bot API
// server, and user 7 with a private chat.
func serve(t *testing.T, changes ...func(*lanes.Options, *Options)) (*Adapter, *botapi.Server, *botapi.User, *botapi.Chat) {
	t.Helper()
	a, api, anna, chat := ready(t, changes...)
	t.Cleanup(run(t, a))
	return a, api, anna, chat
}

// ready is serve for an adapter that does not run yet.
func ready(t *testing.T, changes ...func(*lanes.Options, *Options)) (*Adapter, *botapi.Server, *botapi.User, *botapi.Chat) {
	t.Helper()
	api := botapi.New(t, botapi.WithoutRates())
	anna := api.User(7, "Anna", "", "")
	return newAdapter(t, append(changes, on(api))...), api, anna, api.Private(anna)
}

// run runs an adapter until stop is called.
func run(t *testing.T, a *Adapter) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }() // ends by stop
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// recording returns an adapter that polls nothing and sends nothing.
func recording(t *testing.T) *Adapter {
	t.Helper()
	a := newAdapter(t)
	ctx, cancel := context.WithCancel(context.Background())
	a.env.Work.Begin(ctx)
	if err := a.chats.load(ctx, a.health); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		a.env.Work.Wait()
	})
	return a
}

// An idleAgent cannot be started: what is accepted fails.
type idleAgent struct{}

func (idleAgent) Compose(_ core.TurnID, content json.RawMessage) ([]byte, error) { return content, nil }
func (idleAgent) Reserve() (string, bool)                                        { return "", false }
func (idleAgent) Reap(context.Context, core.ChannelKey) error                    { return nil }
func (idleAgent) Live(context.Context) ([]core.ChannelKey, error)                { return nil, nil }
func (idleAgent) Lasting() bool                                                  { return true }
func (idleAgent) Start(context.Context, core.ChannelKey, core.Launch) (core.Session, error) {
	return nil, errors.New("it does not work")
}
func (idleAgent) Attach(context.Context, core.ChannelKey) (core.Session, error) {
	return nil, core.ErrNoHost
}
func (idleAgent) Fate(context.Context, core.ChannelKey, string, core.TurnID) (core.Fate, error) {
	return core.Fate{}, nil
}
