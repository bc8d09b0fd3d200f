package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// A memory keeps jobs, and takes messages, in memory. Its methods fail with err.
type memory struct {
	mu       sync.Mutex
	err      error
	jobs     []Job
	decided  map[string][]Occurrence // newest first
	messages []core.Submission
	refuse   error // by Submit
	left     error // by AddJob, which keeps the job all the same
	cost     float64
	lost     int // decisions that are not recorded, as if the process had been killed before
	puts     int // calls of PutOccurrences
	failPut  int // the call that fails, as if the process had been killed before
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

func (m *memory) AddJob(_ context.Context, j Job) error {
	defer m.locked()()
	m.jobs = append(m.jobs, j)
	return errors.Join(m.err, m.left)
}

func (m *memory) Jobs(context.Context) ([]Job, error) {
	defer m.locked()()
	return slices.Clone(m.jobs), m.err
}

func (m *memory) Job(_ context.Context, id string) (Job, error) {
	defer m.locked()()
	if i := m.index(id); i >= 0 {
		return m.jobs[i], m.err
	}
	return Job{}, core.ErrNotFound
}

func (m *memory) index(id string) int {
	return slices.IndexFunc(m.jobs, func(j Job) bool { return j.ID == id })
}

func (m *memory) RemoveJob(_ context.Context, id string) error {
	defer m.locked()()
	m.jobs = slices.DeleteFunc(m.jobs, func(j Job) bool { return j.ID == id })
	return m.err
}

func (m *memory) Decide(_ context.Context, d Decision, keep int) error {
	defer m.locked()()
	if m.lost > 0 {
		m.lost--
		return core.ErrClosed
	}
	i := m.index(d.Job)
	if m.err != nil || i < 0 {
		return m.err
	}
	m.jobs[i].DecidedTo = d.DecidedTo
	if !d.DoneAt.IsZero() {
		m.jobs[i].DoneAt = d.DoneAt
	}
	for _, o := range d.Occurrences {
		if !slices.ContainsFunc(m.decided[d.Job], func(p Occurrence) bool { return p.Due.Equal(o.Due) }) {
			m.decided[d.Job] = append(m.decided[d.Job], o)
		}
	}
	slices.SortFunc(m.decided[d.Job], func(a, b Occurrence) int { return b.Due.Compare(a.Due) })
	m.decided[d.Job] = m.decided[d.Job][:min(keep, len(m.decided[d.Job]))]
	return nil
}

func (m *memory) PutOccurrences(_ context.Context, job string, all []Occurrence, keep int) error {
	defer m.locked()()
	if m.puts++; m.puts == m.failPut {
		return core.ErrClosed
	}
	for _, o := range all {
		if o.Answer != nil {
			answer := *o.Answer
			o.Answer = &answer
		}
		m.decided[job] = append(slices.DeleteFunc(m.decided[job], func(p Occurrence) bool { return p.Due.Equal(o.Due) }), o)
	}
	slices.SortFunc(m.decided[job], func(a, b Occurrence) int { return b.Due.Compare(a.Due) })
	m.decided[job] = m.decided[job][:min(keep, len(m.decided[job]))]
	return m.err
}

func (m *memory) SetBack(_ context.Context, job string, to time.Time) error {
	defer m.locked()()
	if i := m.index(job); m.err == nil && i >= 0 {
		m.jobs[i].DecidedTo, m.jobs[i].DoneAt = to, time.Time{}
		m.decided[job] = slices.DeleteFunc(m.decided[job], func(o Occurrence) bool { return o.Outcome == Missed && o.Due.After(to) })
	}
	return m.err
}

func (m *memory) Occurrences(_ context.Context, job string, since time.Time, limit int) (all []Occurrence, err error) {
	defer m.locked()()
	for _, o := range m.decided[job] {
		if !o.Due.Before(since) && len(all) < limit {
			all = append(all, o)
		}
	}
	return all, m.err
}

func (m *memory) SourceMessage(_ context.Context, key string) (core.MessageID, error) {
	defer m.locked()()
	for i, s := range m.messages {
		if s.SourceKey == key {
			return core.MessageID(fmt.Sprint("m", i)), m.err
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
	return usd, m.err
}

func (m *memory) Prune(_ context.Context, _, done time.Time) error {
	defer m.locked()()
	m.jobs = slices.DeleteFunc(m.jobs, func(j Job) bool { return !j.DoneAt.IsZero() && j.DoneAt.Before(done) })
	return m.err
}

func (m *memory) Submit(_ context.Context, s core.Submission) (*core.Ticket, error) {
	defer m.locked()()
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
	*Scheduler
	t      *testing.T
	memory *memory
	jump   atomic.Int64 // of the clock that the scheduler sees, a Duration
	end    func()       // ends its process
}

func play(t *testing.T, o Options, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, memory: &memory{decided: map[string][]Occurrence{}}}
		w.start(o)
		f(t, w)
		w.end()
	})
}

// start runs a process on what an earlier one has left.
func (w *world) start(o Options) {
	o.Store, o.Core, o.Log = w.memory, w.memory, slog.New(slog.DiscardHandler)
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.Admit == nil {
		o.Admit = func(context.Context, core.ChannelKey) error { return nil }
	}
	o.Now = func() time.Time { return time.Now().Add(time.Duration(w.jump.Load())) }
	w.Scheduler = New(o)
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx)
	}()
	w.end = func() { cancel(); <-ended }
}

// after lets time pass.
func (w *world) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) add(r Request) Job {
	w.t.Helper()
	if r.Channel == "" {
		r.Channel, r.Text = "c", "look"
	}
	j, _, err := w.Add(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

// wants fails unless these outcomes are on record, newest first.
func (w *world) wants(j Job, want ...Outcome) []Occurrence {
	w.t.Helper()
	synctest.Wait()
	_, all, err := w.Job(w.t.Context(), j.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	var got []Outcome
	for _, o := range all {
		got = append(got, o.Outcome)
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("outcomes %v, want %v", got, want)
	}
	return all
}
