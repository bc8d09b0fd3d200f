package sqlite_test

import (
	"errors"
	"slices"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

func TestDuplicateSourceKey(t *testing.T) {
	t.Parallel()
	l := open(t)
	first := message("c")
	first.SourceKey, first.SourceHash = "tg:1:2", "hash"
	mustWrite(t, l, core.Change{Accept: []*core.Message{first}})

	again := message("c")
	again.SourceKey, again.SourceHash = first.SourceKey, "other"
	fresh := message("c")
	for _, change := range []core.Change{
		{Accept: []*core.Message{again}},
		accepted(again, turnOf(again)),
		{Accept: []*core.Message{fresh, again}}, // fresh was written by then and must go again
	} {
		wantDuplicate(t, write(l, change), first.ID, "hash")
	}
	for _, id := range []core.MessageID{again.ID, fresh.ID} {
		if _, err := l.Message(t.Context(), id); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("message %s of a refused change: error = %v, want ErrNotFound", id, err)
		}
	}
	wantBalance(t, l, core.Balance{Accepted: 1, Waiting: 1})
}

func TestDuplicateWithinOneGroup(t *testing.T) {
	t.Parallel()
	l := open(t)
	var changes []core.Change
	var ids []core.MessageID
	for range 4 {
		m := message("c")
		m.SourceKey, m.SourceHash = "key", "of "+string(m.ID)
		ids = append(ids, m.ID)
		changes = append(changes, core.Change{Accept: []*core.Message{m}})
	}
	before := l.Stats()
	errs := writeTogether(l, changes)
	if after := l.Stats(); after.Commits != before.Commits+1 || after.Changes != before.Changes+1 {
		t.Errorf("stats went from %+v to %+v, want one change in one commit", before, after)
	}
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	for _, err := range errs[1:] {
		wantDuplicate(t, err, ids[0], "of "+string(ids[0]))
	}
	wantBalance(t, l, core.Balance{Accepted: 1, Waiting: 1})
}

// A change that contradicts the record fails alone, with nothing of it recorded,
// wherever it stands in its group.
func TestContradictionsFailAlone(t *testing.T) {
	t.Parallel()
	settled, running, waiting := message("c"), message("c"), message("c")
	ran := turnOf(running)
	known := func(l core.Ledger, write func(core.Change)) {
		write(core.Change{Accept: []*core.Message{settled, waiting}})
		write(accepted(running, ran))
		write(core.Change{Settle: []core.Settlement{{ID: settled.ID, EndedAt: day, Reply: core.Reply{State: core.Cancelled}}}})
	}
	twice := turnOf(waiting)
	twice.Members = append(twice.Members, waiting.ID)
	reused := turnOf(waiting)
	reused.ID = ran.ID
	reusedFresh := func() core.Change {
		m := message("c")
		turn := turnOf(m)
		turn.ID = ran.ID
		return accepted(m, turn)
	}
	sameMessage := *waiting
	two := message("c")
	cases := map[string]core.Change{
		"begin with a settled message":   {Begin: []*core.Turn{turnOf(settled)}},
		"begin with a running message":   {Begin: []*core.Turn{turnOf(waiting, running)}},
		"begin with an unknown message":  {Begin: []*core.Turn{turnOf(message("c"))}},
		"begin with a member twice":      {Begin: []*core.Turn{twice}},
		"begin two turns with a message": {Accept: []*core.Message{two}, Begin: []*core.Turn{turnOf(two), turnOf(two)}},
		"begin a turn again":             {Begin: []*core.Turn{reused}},
		"begin a turn again, accepting":  reusedFresh(),
		"accept a message again":         {Accept: []*core.Message{&sameMessage}},
		"settle an unknown message":      {Settle: []core.Settlement{{ID: "x", EndedAt: day, Reply: core.Reply{State: core.Failed}}}},
		"settle without an outcome":      {Accept: []*core.Message{message("c")}, Settle: []core.Settlement{{ID: waiting.ID}}},
		"end an unknown turn":            {Accept: []*core.Message{message("c")}, End: []*core.Turn{{ID: "x", EndedAt: day}}},
		"end without a time":             {End: []*core.Turn{{ID: ran.ID}}},
		"update an unknown turn":         {Update: []*core.Turn{{ID: "x"}}},
	}
	for name, bad := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t)
			known(l, func(c core.Change) { mustWrite(t, l, c) })
			good := []*core.Message{message("c"), message("c")}
			before := l.Stats()
			errs := writeTogether(l, []core.Change{{Accept: good[:1]}, bad, {Accept: good[1:]}})
			if errs[0] != nil || errs[2] != nil {
				t.Errorf("the others: %v and %v, want no errors", errs[0], errs[2])
			}
			if err := errs[1]; err == nil || errors.Is(err, core.ErrStorage) || errors.Is(err, core.ErrStorageFull) {
				t.Errorf("error = %v, want one that is not the storage's", err)
			}
			if after := l.Stats(); after.Commits != before.Commits+1 {
				t.Errorf("%d commits, want 1", after.Commits-before.Commits)
			}
			wantBalance(t, l, core.Balance{Accepted: 5, Cancelled: 1, Waiting: 4})
			ms, ts, err := l.Open(t.Context())
			check.OK(t, err)
			if len(ts) != 1 || ts[0].ID != ran.ID {
				t.Errorf("%d turns are open, want only the one that was", len(ts))
			}
			var got []core.MessageID
			for _, m := range ms {
				if m.State == core.Running && m.ID != running.ID {
					t.Errorf("message %s runs", m.ID)
				}
				got = append(got, m.ID)
			}
			if want := []core.MessageID{waiting.ID, running.ID, good[0].ID, good[1].ID}; !slices.Equal(got, want) {
				t.Errorf("open messages = %v, want %v", got, want)
			}
		})
	}
}

func TestAfterClose(t *testing.T) {
	t.Parallel()
	l := open(t)
	m := message("c")
	landed := make(chan error, 1)
	l.Write(core.Change{Accept: []*core.Message{m}}, func(err error) { landed <- err })
	check.OK(t, l.Close())
	if err := <-landed; err != nil {
		t.Errorf("what was queued before: %v", err)
	}
	if err := write(l, core.Change{Accept: []*core.Message{m}}); !errors.Is(err, core.ErrClosed) {
		t.Errorf("write after close: %v, want ErrClosed", err)
	}
	if _, err := l.NextGeneration(t.Context()); !errors.Is(err, core.ErrClosed) {
		t.Errorf("generation after close: %v, want ErrClosed", err)
	}
	if _, err := l.Message(t.Context(), m.ID); !errors.Is(err, core.ErrClosed) {
		t.Errorf("read after close: %v, want ErrClosed", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}
