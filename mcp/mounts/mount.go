package mounts

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"bareclaw/core"
	"bareclaw/internal/wait"
)

// relistTimeout is how long a server may take to list its tools again.
const relistTimeout = 30 * time.Second

// A mount is one server of the file.
type mount struct {
	room   *Mounts
	server Server
	entry  string // hash of how the server is started
	log    *slog.Logger
	pool   *pool
	learns context.Context // ends when the server need not be started any more to learn its tools

	mu       sync.Mutex // guards the fields below
	known    listing
	pending  bool            // what is known is not offered yet
	offered  map[string]bool // tools that are offered, by the gateway's names
	leftOut  []string        // why others are not, in sentences
	learning bool            // it is being started to learn its tools
	calls    int
}

func newMount(room *Mounts, server Server) *mount {
	m := &mount{
		room:   room,
		server: server,
		entry:  entryOf(&server),
		log:    room.log.With("mount", server.Name),
	}
	learns, stop := context.WithCancel(room.life.ctx)
	m.learns = learns
	m.pool = &pool{
		onRetire:  stop,
		name:      server.Name,
		idle:      cmp.Or(time.Duration(server.Idle), room.idle),
		life:      room.life,
		log:       m.log,
		open:      m.open,
		relist:    m.relist,
		instances: map[core.ChannelKey]*instance{},
		pauses:    wait.Backoff{First: firstPause, Most: maxPause},
	}
	return m
}

// takeOver makes what an earlier mount of the same name knows and has counted that of this one.
func (m *mount) takeOver(old *mount) {
	old.mu.Lock()
	known := old.known
	calls := old.calls
	old.mu.Unlock()
	m.mu.Lock()
	m.known = known
	m.calls = calls
	m.mu.Unlock()
	m.pool.countFrom(old.pool.status())
}

// listing returns what the server has listed.
func (m *mount) listing() listing {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known
}

// open begins the session of an instance.
func (m *mount) open(i *instance) error {
	ctx, cancel := context.WithTimeoutCause(i.wanted, startTimeout, &lateError{startTimeout})
	defer cancel()
	l, listed, err := dial(ctx, &m.server, m.room.dir, m.room.nextMark(), m.log, i.changed.Send)
	if err != nil {
		return err
	}
	if err := m.learned(listed); err != nil {
		l.close(ctx)
		return err
	}
	i.link = l
	return nil
}

// relist learns the tools of a server that has changed them.
func (m *mount) relist(ctx context.Context, i *instance) error {
	ctx, cancel := context.WithTimeoutCause(ctx, relistTimeout, &lateError{relistTimeout})
	defer cancel()
	listed, err := listOf(ctx, i.link.session)
	if err != nil {
		return i.link.explain(ctx, err)
	}
	return m.learned(listed)
}

// wantsLearning reports whether the server must be started to learn its tools now. If so, learningDone must follow.
func (m *mount) wantsLearning() bool {
	mayStart := m.pool.mayStart()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server.Disabled || m.learning || !mayStart || m.known.isCurrent(m.entry) {
		return false
	}
	m.learning = true
	return true
}

func (m *mount) learningDone() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.learning = false
}

// whyUnknown returns why the server's tools are not known, as a sentence; empty if they are.
func (m *mount) whyUnknown() string {
	known := m.listing()
	problem := m.pool.status().problem
	switch {
	case m.server.Disabled:
		return fmt.Sprintf("The mounted server %s is disabled.", m.server.Name)
	case known.isCurrent(m.entry):
		return ""
	case problem != "":
		return fmt.Sprintf("The mounted server %s does not start: %s", m.server.Name, problem)
	}
	return fmt.Sprintf("The mounted server %s is being started: call the tool again in a moment.", m.server.Name)
}

func (m *mount) countCall() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
}
