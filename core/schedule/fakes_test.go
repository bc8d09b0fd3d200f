package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/core/schedule"
	"bareclaw/internal/testkit/check"
)

// A memory is a ledger that can be made to fail, and a core that takes messages. The
// ledger does not have the messages.
type memory struct {
	*sqlite.Ledger

	mu       sync.Mutex
	err      error
	messages []core.Submission
	refuse   error // by Submit
	cost     float64
	lost     int // decisions that are not recorded, as if the process had been killed before
	puts     int // calls of PutOccurrences
	failPut  int // the call that fails, as if the process had been killed before

	submits, failSubmit int // likewise of Submit
}

// set changes what it does, while a scheduler uses it.
func (m *memory) set(change func(m *memory)) {
	defer m.locked()()
	change(m)
}

// sent returns the messages that it has taken.
func (m *memory) sent() []core.Submission {
	defer m.locked()()
	return slices.Clone(m.messages)
}

func (m *memory) locked() func() { m.mu.Lock(); return m.mu.Unlock }

func (m *memory) Jobs(ctx context.Context) ([]schedule.Job, error) {
	defer m.locked()()
	all, err := m.Ledger.Jobs(ctx)
	return all, errors.Join(err, m.err)
}

func (m *memory) Decide(ctx context.Context, d schedule.Decision, keep int) error {
	defer m.locked()()
	if m.lost > 0 {
		m.lost--
		return core.ErrClosed
	}
	return m.Ledger.Decide(ctx, d, keep)
}

func (m *memory) PutOccurrences(ctx context.Context, job string, all []schedule.Occurrence, keep int) error {
	defer m.locked()()
	if m.puts++; m.puts == m.failPut {
		return core.ErrClosed
	}
	return m.Ledger.PutOccurrences(ctx, job, all, keep)
}

func (m *memory) SourceMessage(_ context.Context, key string) (core.MessageID, error) {
	defer m.locked()()
	for i, s := range m.messages {
		if s.SourceKey == key {
			return core.MessageID(fmt.Sprint("m", i)), nil
		}
	}
	return "", core.ErrNotFound
}

func (m *memory) SourceCost(_ context.Context, prefix string, _ time.Time) (usd float64, err error) {
	defer m.locked()()
	for _, s := range m.messages {
		if strings.HasPrefix(s.SourceKey, prefix) {
			usd += m.cost
		}
	}
	return usd, nil
}

func (m *memory) Submit(_ context.Context, s core.Submission) (*core.Ticket, error) {
	defer m.locked()()
	if m.submits++; m.submits == m.failSubmit {
		return nil, core.ErrClosed
	}
	if err := errors.Join(m.err, m.refuse); err != nil {
		return nil, err
	}
	for i, old := range m.messages {
		if old.SourceKey == s.SourceKey {
			return &core.Ticket{Message: core.Message{ID: core.MessageID(fmt.Sprint("m", i))}, Existing: true}, nil
		}
	}
	m.messages = append(m.messages, s)
	return &core.Ticket{Message: core.Message{ID: core.MessageID(fmt.Sprint("m", len(m.messages)-1))}}, nil
}

func (m *memory) Deliverer(key core.ChannelKey) string {
	if strings.HasPrefix(string(key), "tg-") {
		return "telegram"
	}
	return ""
}

// A world has a scheduler at work in a bubble of time, whose clock can jump.
type world struct {
	*schedule.Scheduler
	t      *testing.T
	memory *memory
	jump   atomic.Int64 // of the clock that the scheduler sees, a Duration
	end    func()       // ends its process
}

func play(t *testing.T, o schedule.Options, f func(t *testing.T, w *world)) {
	t.Helper()
	playWorld(t, func(t *testing.T, w *world) {
		w.start(o)
		f(t, w)
	})
}

// playWorld calls f, which starts a process that is ended afterwards.
func playWorld(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	synctest.Test(t, func(t *testing.T) {
		l, err := sqlite.Open(path, slog.New(slog.DiscardHandler))
		check.OK(t, err)
		w := &world{t: t, memory: &memory{Ledger: l}}
		f(t, w)
		w.end()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// start runs a process on what an earlier one has left.
func (w *world) start(o schedule.Options) {
	o.Store = w.memory
	o.Submitter = w.memory
	o.Deliverers = w.memory
	o.Log = slog.New(slog.DiscardHandler)
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.Admit == nil {
		o.Admit = func(context.Context, core.ChannelKey) error { return nil }
	}
	o.Now = func() time.Time { return time.Now().Add(time.Duration(w.jump.Load())) }
	w.Scheduler = schedule.New(o)
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx)
	}()
	w.end = func() { cancel(); <-ended }
	synctest.Wait() // the first pass is over
}

// after lets time pass.
func (w *world) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) add(r schedule.Job) schedule.Job {
	w.t.Helper()
	if r.Channel == "" {
		r.Channel, r.Text = "c", "look"
	}
	j, _, err := w.Add(w.t.Context(), r)
	check.OK(w.t, err)
	return j
}

// wants fails unless these outcomes are on record, newest first.
func (w *world) wants(j schedule.Job, want ...schedule.Outcome) []schedule.Occurrence {
	w.t.Helper()
	synctest.Wait()
	_, all, err := w.Job(w.t.Context(), j.ID)
	check.OK(w.t, err)
	var got []schedule.Outcome
	for _, o := range all {
		got = append(got, o.Outcome)
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("outcomes %v, want %v", got, want)
	}
	return all
}
