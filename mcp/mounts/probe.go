package mounts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"bareclaw/internal/proc"
	"bareclaw/internal/procmark"
)

// ErrNoServer says that the file has no server of a name.
var ErrNoServer = errors.New("there is no such mounted server")

// A ListedTool is a tool as its server lists it.
type ListedTool struct {
	Name        string // the gateway's
	Description string // the server's words
	Asks        bool   // a person must allow its calls
	Changed     bool   // since people know it
}

// Test starts a server if it does not run, whatever has become of earlier starts, and has it list its tools. The
// error is ErrNoServer, the cause of ctx, or says why there is no list.
func (r *Mounts) Test(ctx context.Context, name string) (Status, []ListedTool, error) {
	r.mu.Lock()
	m := r.mounts[name]
	fault := r.faults[name]
	r.mu.Unlock()
	switch {
	case fault != "":
		return Status{}, nil, errors.New(fault)
	case m == nil:
		return Status{}, nil, fmt.Errorf("%w: %.120q", ErrNoServer, name)
	case m.server.Disabled:
		return Status{}, nil, fmt.Errorf("the mounted server %s is disabled", name)
	}
	m.pool.forgive()
	i, err := m.pool.acquire(ctx, "")
	if err != nil {
		return Status{}, nil, err
	}
	defer m.pool.release(i, works)
	if err := m.relist(ctx, i); err != nil {
		return Status{}, nil, fmt.Errorf("the mounted server %s does not list its tools: %w", name, err)
	}
	known := m.listing()
	return m.status(), m.server.listed(&known), nil
}

// listed returns the tools that the server is known to list.
func (s *Server) listed(known *listing) []ListedTool {
	all := make([]ListedTool, 0, len(known.Tools))
	for i := range known.Tools {
		t := &known.Tools[i]
		_, hasChanged := known.Trusted[s.NameOf(t.Name)]
		all = append(all, ListedTool{
			Name:        s.NameOf(t.Name),
			Description: t.Description,
			Asks:        known.asks(s, t),
			Changed:     hasChanged,
		})
	}
	return all
}

// Probe starts a server in a directory, with the environment of this process, has it list its tools, and ends it.
// It needs no gateway.
func Probe(ctx context.Context, s Server, dir string, log *slog.Logger) ([]ListedTool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, &lateError{startTimeout})
	defer cancel()
	pid := os.Getpid()
	start, err := proc.StartTime(pid)
	if err != nil {
		return nil, err
	}
	l, all, err := dial(ctx, &s, dir, procmark.Of(dir, pid, start).String(), log, func() {})
	if err != nil {
		return nil, err
	}
	l.close(ctx)
	return s.listed(&listing{Tools: all.tools}), nil
}
