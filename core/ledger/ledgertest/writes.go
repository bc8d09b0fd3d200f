package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// What the caller does to its records after Write is its own affair.
func testWriteReadsRecordsBeforeItReturns(t *testing.T, s Subject) {
	l := s.open(t)
	release := Hold(l)
	m := Message("before")
	id := m.ID
	l.Write(Accept(m), func(err error) {
		if err != nil {
			t.Error(err)
		}
	})
	m.ID = "changed"
	m.Channel = "after"
	release()
	if got, err := l.Message(t.Context(), id); err != nil || got.Channel != "before" {
		t.Errorf("message = %+v, %v", got, err)
	}
}

func testReadsSeeEarlierWrites(t *testing.T, s Subject) {
	l := s.open(t)
	for i := range 200 {
		m := Message("c")
		l.Write(Accept(m), func(error) {})
		if _, err := l.Message(t.Context(), m.ID); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
}

func testManyGoroutines(t *testing.T, s Subject) {
	l := s.open(t)
	const goroutines, each = 12, 6
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				m := Message(fmt.Sprint("channel ", g))
				turn := TurnOf(m)
				if err := Write(l, Accepted(m, turn)); err != nil {
					t.Error(err)
				}
				if b, err := l.Balance(t.Context()); err != nil || !b.Even() {
					t.Errorf("balance = %+v, %v", b, err)
				}
				if err := Write(l, Answered(m, turn)); err != nil {
					t.Error(err)
				}
				if ms, err := l.Messages(t.Context(), m.Channel, each, ""); err != nil || len(ms) != i+1 || ms[0].ID != m.ID {
					t.Errorf("%d messages, %v, want %d", len(ms), err, i+1)
				}
			}
		})
	}
	wg.Wait()
	WantBalance(t, l, core.Balance{Accepted: goroutines * each, Answered: goroutines * each})
}

func testGeneration(t *testing.T, s Subject) {
	dir := t.TempDir()
	for want := int64(1); want <= 4; want++ {
		l := s.openIn(t, dir)
		if got, err := l.NextGeneration(t.Context()); err != nil || got != want {
			t.Errorf("generation = %d, %v, want %d", got, err, want)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

func testDuplicateSourceKey(t *testing.T, s Subject) {
	l := s.open(t)
	first := Message("c")
	first.SourceKey = "tg:1:2"
	first.SourceHash = "hash"
	MustWrite(t, l, Accept(first))

	again := Message("c")
	again.SourceKey = first.SourceKey
	again.SourceHash = "other"
	fresh := Message("c")
	for _, change := range []core.Change{
		Accept(again),
		Accepted(again, TurnOf(again)),
		Accept(fresh, again), // fresh was written by then and must go again
	} {
		wantDuplicate(t, Write(l, change), first.ID, "hash")
	}
	for _, id := range []core.MessageID{again.ID, fresh.ID} {
		if _, err := l.Message(t.Context(), id); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("message %s of a refused change: error = %v, want ErrNotFound", id, err)
		}
	}
	WantBalance(t, l, core.Balance{Accepted: 1, Waiting: 1})
}

func testDuplicateWithinOneGroup(t *testing.T, s Subject) {
	l := s.open(t)
	var changes []core.Change
	var ids []core.MessageID
	for range 4 {
		m := Message("c")
		m.SourceKey = "key"
		m.SourceHash = "of " + string(m.ID)
		ids = append(ids, m.ID)
		changes = append(changes, Accept(m))
	}
	errs := WriteTogether(l, changes)
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	for _, err := range errs[1:] {
		wantDuplicate(t, err, ids[0], "of "+string(ids[0]))
	}
	WantBalance(t, l, core.Balance{Accepted: 1, Waiting: 1})
}

// A change that contradicts the record fails alone, with nothing of it recorded,
// wherever it stands in its group.
func testContradictionsFailAlone(t *testing.T, s Subject) {
	settled := Message("c")
	running := Message("c")
	waiting := Message("c")
	ran := TurnOf(running)
	known := []core.Change{
		Accept(settled, waiting),
		Accepted(running, ran),
		{Settle: []core.Settlement{{ID: settled.ID, EndedAt: Day, Reply: core.Reply{State: core.Cancelled}}}},
	}
	twice := TurnOf(waiting)
	twice.Members = append(twice.Members, waiting.ID)
	reused := TurnOf(waiting)
	reused.ID = ran.ID
	reusedFresh := func() core.Change {
		m := Message("c")
		turn := TurnOf(m)
		turn.ID = ran.ID
		return Accepted(m, turn)
	}
	sameMessage := *waiting
	two := Message("c")
	cases := map[string]core.Change{
		"begin with a settled message":   begin(TurnOf(settled)),
		"begin with a running message":   begin(TurnOf(waiting, running)),
		"begin with an unknown message":  begin(TurnOf(Message("c"))),
		"begin with a member twice":      begin(twice),
		"begin two turns with a message": {Accept: []*core.Message{two}, Begin: []*core.Turn{TurnOf(two), TurnOf(two)}},
		"begin a turn again":             begin(reused),
		"begin a turn again, accepting":  reusedFresh(),
		"accept a message again":         Accept(&sameMessage),
		"settle an unknown message":      {Settle: []core.Settlement{{ID: "x", EndedAt: Day, Reply: core.Reply{State: core.Failed}}}},
		"settle without an outcome":      {Accept: []*core.Message{Message("c")}, Settle: []core.Settlement{{ID: waiting.ID}}},
		"end an unknown turn":            {Accept: []*core.Message{Message("c")}, End: []*core.Turn{{ID: "x", EndedAt: Day}}},
		"end without a time":             {End: []*core.Turn{{ID: ran.ID}}},
		"update an unknown turn":         {Update: []*core.Turn{{ID: "x"}}},
	}
	for name, bad := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := s.open(t)
			for _, c := range known {
				MustWrite(t, l, c)
			}
			good := []*core.Message{Message("c"), Message("c")}
			errs := WriteTogether(l, []core.Change{{Accept: good[:1]}, bad, {Accept: good[1:]}})
			if errs[0] != nil || errs[2] != nil {
				t.Errorf("the others: %v and %v, want no errors", errs[0], errs[2])
			}
			if err := errs[1]; err == nil || errors.Is(err, core.ErrStorage) || errors.Is(err, core.ErrStorageFull) {
				t.Errorf("error = %v, want one that is not the storage's", err)
			}
			WantBalance(t, l, core.Balance{Accepted: 5, Cancelled: 1, Waiting: 4})
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

func testAfterClose(t *testing.T, s Subject) {
	l := s.open(t)
	m := Message("c")
	landed := make(chan error, 1)
	l.Write(Accept(m), func(err error) { landed <- err })
	check.OK(t, l.Close())
	if err := <-landed; err != nil {
		t.Errorf("what was queued before: %v", err)
	}
	if err := Write(l, Accept(m)); !errors.Is(err, core.ErrClosed) {
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

// Whoever reads while the ledger is closed is told so: during a hand-over the
// question is then passed on.
func testReadWhileClosing(t *testing.T, s Subject) {
	for range 5 {
		l := s.open(t)
		var reading, readers sync.WaitGroup
		for range 4 {
			reading.Add(1)
			readers.Go(func() {
				_, err := l.Balance(context.Background())
				for reading.Done(); err == nil; _, err = l.Balance(context.Background()) {
				}
				if !errors.Is(err, core.ErrClosed) {
					t.Errorf("read: %v", err)
				}
			})
		}
		reading.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		readers.Wait()
	}
}

// A message and a turn that are known already are refused, however new they are.
func testArrivalAgain(t *testing.T, s Subject) {
	l := s.open(t)
	m := Message("c")
	again := *m
	errs := WriteTogether(l, []core.Change{Accept(m), Accept(&again), Accepted(&again, TurnOf(&again))})
	if errs[0] != nil || errs[1] == nil || errs[2] == nil {
		t.Errorf("outcomes = %v, want the first only to be accepted", errs)
	}
	WantBalance(t, l, core.Balance{Accepted: 1, Waiting: 1})
}

// Callbacks come once each, in the order of the writes, and never two at a time.
func testCallbacksAreInOrder(t *testing.T, s Subject) {
	l := s.open(t)
	const changes = 300
	var order []int
	var all sync.WaitGroup
	all.Add(changes)
	for i := range changes {
		l.Write(Accept(Message("c")), func(err error) {
			if err != nil {
				t.Error(err)
			}
			order = append(order, i) // without a lock: on the ledger's goroutine only
			all.Done()
		})
	}
	all.Wait()
	if len(order) != changes || !slices.IsSorted(order) {
		t.Errorf("%d callbacks, sorted: %v", len(order), slices.IsSorted(order))
	}
}

// A lazy change is read at once, becomes durable by itself, and is written when the ledger is
// closed.
func testLazyChanges(t *testing.T, s Subject) {
	dir := t.TempDir()
	l := s.openIn(t, dir)
	lazily := func(id string) core.Change {
		b := &core.Background{
			ID:        id,
			Channel:   "c",
			Text:      id,
			CreatedAt: Day,
		}
		return core.Change{Lazy: true, Background: []*core.Background{b}}
	}
	var texts []string
	read := func() {
		t.Helper()
		all, err := l.Backgrounds(t.Context(), "c", 9)
		check.OK(t, err)
		texts = nil
		for _, b := range all {
			texts = append(texts, b.Text)
		}
	}
	l.Write(lazily("a"), func(error) {})
	if read(); !slices.Equal(texts, []string{"a"}) {
		t.Errorf("read at once: %q", texts)
	}
	check.OK(t, Write(l, lazily("b"))) // nothing else is written or read
	l.Write(lazily("c"), func(error) {})
	landed := make(chan error, 1)
	l.Write(lazily("d"), func(err error) { landed <- err })
	check.OK(t, l.Close())
	check.OK(t, <-landed)
	l = s.openIn(t, dir)
	if read(); !slices.Equal(texts, []string{"d", "c", "b", "a"}) {
		t.Errorf("read after a restart: %q", texts)
	}
}

// Progress grows with each write, and does not wait for a goroutine that is stuck.
func testProgress(t *testing.T, s Subject) {
	l := s.open(t)
	before := l.Progress()
	MustWrite(t, l, Accept(Message("c")))
	after := l.Progress()
	if after <= before {
		t.Errorf("progress went from %d to %d", before, after)
	}
	release := Hold(l)
	if stuck := l.Progress(); stuck < after {
		t.Errorf("progress went from %d to %d", after, stuck)
	}
	release()
}

// A source key that is kept for a time is free afterwards, unless its message has no outcome.
func testSourceKeyIsFreed(t *testing.T, s Subject) {
	l := s.open(t)
	keyed := func(key string, after time.Duration) *core.Message {
		m := Message("c")
		m.SourceKey = key
		m.SourceHash = "of " + string(m.ID)
		m.KeyKept = time.Hour
		m.ReceivedAt = Day.Add(after)
		return m
	}
	accept := func(m *core.Message) error { return Write(l, Accept(m)) }
	ended := keyed("ended", 0)
	waiting := keyed("waiting", 0)
	check.OK(t, accept(ended))
	check.OK(t, accept(waiting))
	outcome := core.Reply{State: core.Answered, Text: "done"}
	MustWrite(t, l, settle(ended.ID, Day, outcome))
	wantDuplicate(t, accept(keyed("ended", time.Minute)), ended.ID, ended.SourceHash)
	wantDuplicate(t, accept(keyed("waiting", 2*time.Hour)), waiting.ID, waiting.SourceHash)
	next := keyed("ended", 2*time.Hour)
	check.OK(t, accept(next))
	wantDuplicate(t, accept(keyed("ended", 2*time.Hour)), next.ID, next.SourceHash)
	if _, err := l.Message(t.Context(), ended.ID); err != nil {
		t.Errorf("the message that had the key: %v", err)
	}
}

// What cannot be written for want of the storage is not recorded, in whatever company, and the
// same change is written when the storage is back.
func testTryAgain(t *testing.T, s Subject) {
	dir := t.TempDir()
	l := s.openIn(t, dir)
	running, turn := Begun(t, l)
	WantBalance(t, l, core.Balance{Accepted: 1, Waiting: 1})
	fresh := Message("c")
	b := &core.Background{
		ID:        "b",
		Channel:   "c",
		Text:      "built",
		CreatedAt: Day,
		CostUSD:   0.5,
	}
	changes := []core.Change{
		Accept(fresh),
		Answered(running, turn),
		{Background: []*core.Background{b}},
	}
	mend := s.Break(t, dir)
	for i, err := range WriteTogether(l, changes) {
		if !errors.Is(err, core.ErrStorage) && !errors.Is(err, core.ErrStorageFull) {
			t.Errorf("change %d: error = %v, want one of the storage", i, err)
		}
	}
	if _, err := l.Message(t.Context(), fresh.ID); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("refused message: error = %v, want ErrNotFound", err)
	}
	WantBalance(t, l, core.Balance{Accepted: 1, Waiting: 1})
	mend()
	for _, err := range WriteTogether(l, changes) {
		check.OK(t, err)
	}
	WantBalance(t, l, core.Balance{Accepted: 2, Answered: 1, Waiting: 1})
	wantSpent(t, l, Day, 0.75)
}
