package sqlite_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"bareclaw/core"
	"bareclaw/core/ledger/sqlite"
)

// hold keeps the writer busy until release is called: what is written meanwhile
// becomes one group. (A callback must not block; here that is the point.)
func hold(l *sqlite.Ledger) (release func()) {
	held, free := make(chan struct{}), make(chan struct{})
	l.Write(core.Change{}, func(error) { close(held); <-free })
	<-held
	return func() { close(free) }
}

// writeTogether writes changes as one group and returns their outcomes.
func writeTogether(l *sqlite.Ledger, changes []core.Change) []error {
	release := hold(l)
	errs := make([]error, len(changes))
	var wg sync.WaitGroup
	wg.Add(len(changes))
	for i, c := range changes {
		l.Write(c, func(err error) { errs[i] = err; wg.Done() })
	}
	release()
	wg.Wait()
	return errs
}

func TestGroupSharesOneCommit(t *testing.T) {
	t.Parallel()
	l := open(t)
	const changes = 1200 // two full groups of 512 and a rest
	release := hold(l)
	var order []int
	var all sync.WaitGroup
	all.Add(changes)
	for i := range changes {
		m := message(fmt.Sprint("channel ", i%7))
		l.Write(core.Change{Accept: []*core.Message{m}}, func(err error) {
			if err != nil {
				t.Error(err)
			}
			order = append(order, i) // the writer's goroutine only
			all.Done()
		})
	}
	before := l.Stats()
	release()
	all.Wait()
	after := l.Stats()
	if got := after.Commits - before.Commits; got != 3 {
		t.Errorf("%d commits, want 3", got)
	}
	if got := after.Changes - before.Changes; got != changes {
		t.Errorf("%d changes, want %d", got, changes)
	}
	if !slices.IsSorted(order) {
		t.Error("callbacks did not come in the order of the writes")
	}
	wantBalance(t, l, core.Balance{Accepted: changes, Waiting: changes})
}

// Large messages are not gathered into one enormous transaction.
func TestGroupIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	l := open(t)
	big := string(make([]byte, 3<<20))
	changes := make([]core.Change, 4)
	for i := range changes {
		m := message("c")
		m.Content.Text = big
		changes[i] = core.Change{Accept: []*core.Message{m}}
	}
	before := l.Stats()
	for _, err := range writeTogether(l, changes) {
		if err != nil {
			t.Error(err)
		}
	}
	if after := l.Stats(); after.Commits-before.Commits != 4 {
		t.Errorf("%d commits, want 4", after.Commits-before.Commits)
	}
}

// What the caller does to its records after Write is its own affair.
func TestWriteReadsRecordsBeforeItReturns(t *testing.T) {
	t.Parallel()
	l := open(t)
	release := hold(l)
	m := message("before")
	id := m.ID
	l.Write(core.Change{Accept: []*core.Message{m}}, func(err error) {
		if err != nil {
			t.Error(err)
		}
	})
	m.ID, m.Channel = "changed", "after"
	release()
	if got, err := l.Message(t.Context(), id); err != nil || got.Channel != "before" {
		t.Errorf("message = %+v, %v", got, err)
	}
}

func TestReadsSeeEarlierWrites(t *testing.T) {
	t.Parallel()
	l := open(t)
	for i := range 200 {
		m := message("c")
		l.Write(core.Change{Accept: []*core.Message{m}}, func(error) {})
		if _, err := l.Message(t.Context(), m.ID); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
}

func TestManyGoroutines(t *testing.T) {
	t.Parallel()
	l := open(t)
	const goroutines, each = 12, 6
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				m := message(fmt.Sprint("channel ", g))
				turn := turnOf(m)
				if err := write(l, accepted(m, turn)); err != nil {
					t.Error(err)
				}
				if b, err := l.Balance(t.Context()); err != nil || !b.Even() {
					t.Errorf("balance = %+v, %v", b, err)
				}
				if err := write(l, answered(m, turn)); err != nil {
					t.Error(err)
				}
				if ms, err := l.Messages(t.Context(), m.Channel, each, ""); err != nil || len(ms) != i+1 || ms[0].ID != m.ID {
					t.Errorf("%d messages, %v, want %d", len(ms), err, i+1)
				}
			}
		})
	}
	wg.Wait()
	wantBalance(t, l, core.Balance{Accepted: goroutines * each, Answered: goroutines * each})
	if s := l.Stats(); s.Commits >= s.Changes {
		t.Errorf("%d commits for %d changes: nothing was grouped", s.Commits, s.Changes)
	}
}

func TestGeneration(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/ledger.db"
	for want := int64(1); want <= 4; want++ {
		l := openAt(t, path)
		if got, err := l.NextGeneration(t.Context()); err != nil || got != want {
			t.Errorf("generation = %d, %v, want %d", got, err, want)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
