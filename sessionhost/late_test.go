package sessionhost

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/executable"
)

// lateScript runs a host once the file GO is there.
const lateScript = `#!/bin/sh
: > "$HERE"
until [ -e "$GO" ]; do sleep 0.01; done
exec "$SELF" "$@"
`

func writeLate(dir string) error {
	return executable.Write(filepath.Join(dir, "late"), []byte(lateScript))
}

// TestStartOutlivesItsContext ends the context while the host starts: the session
// is there all the same, and is found. Were it not, nobody would know of the host.
func TestStartOutlivesItsContext(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.o.Env = append(st.o.Env, "SELF="+st.o.Self, "HERE="+st.path("here"), "GO="+st.path("go"))
	st.o.Self = filepath.Join(built.dir, "late")
	h := st.hosts()
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan error, 1)
	go func() { // ends when the host has answered
		s, err := h.Start(ctx, "c", core.Launch{SessionID: newID(t)})
		if err == nil {
			s.Detach()
		}
		started <- err
	}()
	for {
		if _, err := os.Stat(st.path("here")); err == nil {
			break
		}
		<-time.After(time.Millisecond)
	}
	cancel()
	st.touch("go")
	if err := <-started; err != nil {
		t.Errorf("start: %v", err)
	}
	if live, err := h.Live(t.Context()); err != nil || len(live) != 1 {
		t.Errorf("hosts that live: %q, %v", live, err)
	}
	if err := h.Reap(t.Context(), "c"); err != nil {
		t.Error(err)
	}
	if live, err := h.Live(t.Context()); err != nil || len(live) != 0 {
		t.Errorf("hosts that live after the end: %q, %v", live, err)
	}
}

// TestHostThatAnswersLate has a host answer only after the daemon has waited once in vain:
// the session is used all the same, and its turn goes on.
func TestHostThatAnswersLate(t *testing.T) {
	t.Parallel()
	// late returns the hosts of a daemon that loses its patience at once, and then has all
	// of it, while resume lets the host go on.
	late := func(st *station, resume func()) *Hosts {
		var h *Hosts
		st.o.Generation, st.o.ConnectTimeout = 2, 50*time.Millisecond
		st.o.Log = slog.New(onMessage{slog.DiscardHandler, "session host does not answer yet", func() {
			h.o.ConnectTimeout = patience
			resume()
		}})
		h = st.hosts()
		return h
	}
	t.Run("attached", func(t *testing.T) {
		t.Parallel()
		st := newStation(t)
		s := st.start()
		id := s.hand("wait " + st.path("go"))
		s.until(core.TurnState)
		s.Detach()
		r := st.record()
		if err := proc.Signal(r.PID, r.Start, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		awaitStopped(st, r.PID)
		h := late(st, func() { _ = proc.Signal(r.PID, r.Start, syscall.SIGCONT) })
		again, err := h.Attach(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		s = st.listen(again)
		st.touch("go")
		if all := s.until(core.Resulted); !slices.Contains(all[len(all)-1].Result.Turns, id) {
			t.Error("the turn was not answered")
		}
	})
	t.Run("starting", func(t *testing.T) {
		t.Parallel()
		st := newStation(t)
		st.o.Env = append(st.o.Env, "SELF="+st.o.Self, "HERE="+st.path("here"), "GO="+st.path("go"))
		st.o.Self = filepath.Join(built.dir, "late")
		h := late(st, func() { st.touch("go") })
		s, err := h.Start(t.Context(), "c", core.Launch{SessionID: newID(t)})
		if err != nil {
			t.Fatal(err)
		}
		if got := st.listen(s).answer("echo hello"); got != "hello" {
			t.Errorf("answer is %q", got)
		}
	})
}
