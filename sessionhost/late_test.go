package sessionhost

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bareclaw/core"
)

// lateScript runs a host once the file GO is there.
const lateScript = `#!/bin/sh
: > "$HERE"
until [ -e "$GO" ]; do sleep 0.01; done
exec "$SELF" "$@"
`

func writeLate(dir string) error {
	return os.WriteFile(filepath.Join(dir, "late"), []byte(lateScript), 0o700)
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
