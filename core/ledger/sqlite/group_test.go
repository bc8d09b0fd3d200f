package sqlite_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"bareclaw/core"
	"bareclaw/core/ledger/ledgertest"
)

func TestGroupSharesOneCommit(t *testing.T) {
	t.Parallel()
	l := open(t)
	const changes = 1200 // two full groups of 512 and a rest
	release := ledgertest.Hold(l)
	var order []int
	var all sync.WaitGroup
	all.Add(changes)
	for i := range changes {
		m := ledgertest.Message(fmt.Sprint("channel ", i%7))
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
	ledgertest.WantBalance(t, l, core.Balance{Accepted: changes, Waiting: changes})
}

// Large messages are not gathered into one enormous transaction.
func TestGroupIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	l := open(t)
	big := string(make([]byte, 3<<20))
	changes := make([]core.Change, 4)
	for i := range changes {
		m := ledgertest.Message("c")
		m.Content.Text = big
		changes[i] = core.Change{Accept: []*core.Message{m}}
	}
	before := l.Stats()
	for _, err := range ledgertest.WriteTogether(l, changes) {
		if err != nil {
			t.Error(err)
		}
	}
	if after := l.Stats(); after.Commits-before.Commits != 4 {
		t.Errorf("%d commits, want 4", after.Commits-before.Commits)
	}
}

// Changes that are refused cost no commit of their own: the group is written without them.
func TestRefusedChangesShareTheCommit(t *testing.T) {
	t.Parallel()
	l := open(t)
	var changes []core.Change
	for range 4 {
		m := ledgertest.Message("c")
		m.SourceKey = "key"
		changes = append(changes, core.Change{Accept: []*core.Message{m}})
	}
	unknown := ledgertest.TurnOf(ledgertest.Message("c"))
	changes = append(changes, core.Change{Begin: []*core.Turn{unknown}})
	before := l.Stats()
	for i, err := range ledgertest.WriteTogether(l, changes) {
		if refused := err != nil; refused != (i > 0) {
			t.Errorf("change %d: %v", i, err)
		}
	}
	after := l.Stats()
	if after.Commits != before.Commits+1 || after.Changes != before.Changes+1 {
		t.Errorf("stats went from %+v to %+v, want one change in one commit", before, after)
	}
}

// Changes of callers that wait at the same time share commits.
func TestConcurrentChangesAreGrouped(t *testing.T) {
	t.Parallel()
	l := open(t)
	var callers sync.WaitGroup
	for range 12 {
		callers.Go(func() {
			for range 6 {
				if err := ledgertest.Write(l, core.Change{Accept: []*core.Message{ledgertest.Message("c")}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	if s := l.Stats(); s.Commits >= s.Changes {
		t.Errorf("%d commits for %d changes: nothing was grouped", s.Commits, s.Changes)
	}
}
