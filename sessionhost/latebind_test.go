package sessionhost

import (
	"context"
	"log/slog"
	"sync"
	"syscall"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/internal/proc"
	"bareclaw/sessionhost/protocol"
)

// onMessage calls a function when something is logged.
type onMessage struct {
	slog.Handler
	message string
	then    func()
}

func (h onMessage) Enabled(context.Context, slog.Level) bool { return true }

func (h onMessage) Handle(_ context.Context, r slog.Record) error {
	if r.Message == h.message {
		h.then()
	}
	return nil
}

// TestSpareIsBoundTooLate has a spare say that it belongs to the channel just after
// it was given up: the channel gets another host, which is the only one.
func TestSpareIsBoundTooLate(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	var host protocol.Record
	var sp *spare
	goOn := sync.OnceFunc(func() {
		_ = proc.Signal(host.PID, host.Start, syscall.SIGCONT)
		<-sp.bound
	})
	st.o.Log = slog.New(onMessage{slog.DiscardHandler, "spare not bound, a session host is started instead", goOn})
	h, r := st.spare()
	host, sp = r, h.spares.first()
	id := st.reserve(h)
	if err := proc.Signal(host.PID, host.Start, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	started := make(chan *listener, 1)
	go func() {
		if s, err := h.Start(ctx, "c", core.Launch{SessionID: id}); err == nil {
			started <- st.listen(s)
		}
	}()
	select {
	case s := <-started:
		if got := s.answer("session"); got != id {
			t.Errorf("answer is %q, want session %q", got, id)
		}
		if host.HostAlive() && s.Info().HostPID != host.PID {
			t.Error("the spare lives on beside the host that was started instead")
		}
	case <-ctx.Done():
		t.Fatal("the channel's session is never started")
	}
}
