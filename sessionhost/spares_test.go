package sessionhost

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
	"bareclaw/sessionhost/protocol"
)

// spare returns a keeper with one spare, which is ready, and the spare's record.
func (st *station) spare() (*Hosts, protocol.Record) {
	st.t.Helper()
	st.o.Spares = 1
	h := st.hosts()
	check.OK(st.t, h.KeepSpares(st.t.Context()))
	st.t.Cleanup(func() {
		if err := h.EndSpares(context.Background()); err != nil {
			st.t.Error(err)
		}
	})
	return h, st.spareRecord(h)
}

// spareRecord waits until the spare is ready.
func (st *station) spareRecord(h *Hosts) protocol.Record {
	st.t.Helper()
	st.eventually("the spare is ready", func() bool { ready, _ := h.Spares(); return ready == 1 })
	r, err := protocol.ReadRecord(h.o.place(spareKey(1)).RecordPath)
	check.OK(st.t, err)
	return r
}

// reserve returns the spare's session.
func (st *station) reserve(h *Hosts) string {
	st.t.Helper()
	id, ok := h.Reserve()
	if !ok {
		st.t.Fatal("there is no spare")
	}
	return id
}

// begin starts a session on channel "c".
func (st *station) begin(h *Hosts, l core.Launch) *listener {
	st.t.Helper()
	s, err := h.Start(st.t.Context(), "c", l)
	check.OK(st.t, err)
	return st.listen(s)
}

func dead(r protocol.Record) bool { return !r.HostAlive() && !r.ClaudeAlive() }

// TestSpareBecomesAChannel binds a spare: it has the channel's record, lock and
// socket then, a later daemon finds it there, and the channel's lock keeps others
// off.
func TestSpareBecomesAChannel(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	h, spare := st.spare()
	id := st.reserve(h)
	if _, ok := h.Reserve(); ok {
		t.Error("the spare was promised twice")
	}
	s := st.begin(h, core.Launch{SessionID: id})
	if info := s.Info(); info.HostPID != spare.PID || info.AgentPID != spare.ClaudePID || info.SessionID != id || !info.Ready {
		t.Errorf("session is %+v, the spare was %+v", info, spare)
	}
	s.answers("session", id)
	r := st.record()
	if r.Channel != "c" || r.PID != spare.PID || r.ClaudePID != spare.ClaudePID || r.Socket != st.paths().Socket {
		t.Errorf("record is %+v", r)
	}
	if lock, err := protocol.LockFile(st.paths().LockPath); !errors.Is(err, protocol.ErrLocked) {
		t.Errorf("the channel's lock is free (%v)", err)
		_ = lock.Close()
	}
	live, err := h.Live(t.Context())
	if err != nil || len(live) != 1 || live[0] != "c" {
		t.Errorf("live: %q (%v)", live, err)
	}
	st.attach(2).answers("echo attached", "attached")
	if next := st.spareRecord(h); next.PID == spare.PID {
		t.Error("the spare was not replaced")
	}
}

// TestBoundIsHeardAgain has a daemon attach that was not there when the spare was
// bound, before anything was acknowledged: it understands what it gets.
func TestBoundIsHeardAgain(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	var tr translator
	var batch core.Batch
	tr.translate(&batch, protocol.Entry{Seq: 3, Bound: "c"})
	if got := batch.Events; len(got) != 1 || got[0].Kind != core.Said || got[0].Seq != 3 {
		t.Errorf("translated to %+v", got)
	}
	h, _ := st.spare()
	st.begin(h, core.Launch{SessionID: st.reserve(h)}).Detach()
	st.attach(2).answers("echo attached", "attached")
}

// TestReservedSpareIsLost has something become of a spare between its promise and
// its channel: the session is begun by another claude, and the spare's is gone.
func TestReservedSpareIsLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(h *Hosts, r protocol.Record){
		"host killed": func(_ *Hosts, r protocol.Record) { _ = proc.Signal(r.PID, r.Start, syscall.SIGKILL) },
		"nobody came": func(h *Hosts, _ protocol.Record) { h.spares.discard(h.spares.first()) },
		"half moved": func(h *Hosts, _ protocol.Record) { // the socket cannot be, but the lock is
			if err := os.Mkdir(h.o.place("c").Socket, 0o700); err != nil {
				panic(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStation(t)
			h, spare := st.spare()
			id := st.reserve(h)
			lose(h, spare)
			s := st.begin(h, core.Launch{SessionID: id})
			if !dead(spare) {
				t.Error("the spare is alive")
			}
			if got := s.answer("session"); got != id || s.Info().AgentPID == spare.ClaudePID {
				t.Errorf("answer is %q by %d, want session %q of another than %d", got, s.Info().AgentPID, id, spare.ClaudePID)
			}
			st.spareRecord(h)
			if isThere(h.o.place(spareKey(1)).ReservedPath()) {
				t.Error("a promise is left")
			}
		})
	}
}

// TestReservedSpareOfAnEarlierDaemon: a daemon ends between the promise of a spare and its channel.
// The next daemon ends the spare before any channel is served.
func TestReservedSpareOfAnEarlierDaemon(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	earlier, spare := st.spare()
	st.reserve(earlier)
	earlier.LeaveSpares()
	h := st.hosts()
	check.OK(t, h.KeepSpares(t.Context()))
	defer h.LeaveSpares()
	if !dead(spare) {
		t.Error("the spare that was promised is alive")
	}
}

// first returns the spare in the first slot.
func (p *spares) first() *spare {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[1]
}

// TestSpareIsNotResumed asks to resume the session that a spare has begun: two
// processes must not have it.
func TestSpareIsNotResumed(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	h, spare := st.spare()
	st.begin(h, core.Launch{SessionID: st.reserve(h), Resume: true})
	if !dead(spare) {
		t.Error("the spare is alive")
	}
}

// TestHostOfAChannelIsNotBound sends a bind frame to a host that has a channel.
func TestHostOfAChannelIsNotBound(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	s := st.start()
	s.until(core.Readied)
	conn, r := st.dial()
	frames := `{"type":"hello","version":1,"generation":2}` + "\n" + `{"type":"bind","line":{"channel":"d","record_path":"` + st.path("stolen") + `"}}` + "\n"
	if _, err := io.WriteString(conn, frames); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Fatal(err)
	}
	if st.exists("stolen") || st.record().Channel != "c" {
		t.Error("the host has another channel")
	}
	st.attach(3).answers("echo still here", "still here")
}

// TestNoSpareWhileMemoryIsShort starts none then, and one when there is enough.
func TestNoSpareWhileMemoryIsShort(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	free := uint64(spareMemory - 1)
	st.o.Spares, st.o.MemoryFree = 1, func() uint64 { return free }
	h := st.hosts()
	t.Cleanup(func() {
		if err := h.EndSpares(context.Background()); err != nil {
			t.Error(err)
		}
	})
	h.spares.start(1)
	if _, wait := h.spares.next(); len(h.spares.all) != 0 || wait < memoryPause/2 {
		t.Errorf("%d spares, the next in %s", len(h.spares.all), wait)
	}
	free = spareMemory
	h.spares.start(1)
	st.spareRecord(h)
}

// TestSparePauses grow up to a bound.
func TestSparePauses(t *testing.T) {
	t.Parallel()
	h := newStation(t).hosts()
	t.Cleanup(h.LeaveSpares)
	var last time.Duration
	for i := range 12 {
		pause := h.spares.backOff(0)
		if i == 0 && pause != minSparePause || pause != min(max(2*last, minSparePause), maxSparePause) {
			t.Errorf("pause %d is %s after %s", i, pause, last)
		}
		last = pause
	}
	if last != maxSparePause {
		t.Errorf("the last pause is %s", last)
	}
}

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
	st.signal(host.PID, host.Start, syscall.SIGSTOP)
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
		s.answers("session", id)
		if host.HostAlive() && s.Info().HostPID != host.PID {
			t.Error("the spare lives on beside the host that was started instead")
		}
	case <-ctx.Done():
		t.Fatal("the channel's session is never started")
	}
}
