package lanes

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// A slate is a ledger that fails as long as err is set, and notes the written changes.
type slate struct {
	core.Ledger

	err     error
	written []string
}

func (s *slate) Write(c core.Change, done func(error)) {
	if s.err == nil {
		s.written = append(s.written, string(c.Requeue[0]))
	}
	done(s.err)
}

// TestJournalAfterALongOutage: what could not be written is on record within a second after the
// storage works again, and the outage is logged once.
func TestJournalAfterALongOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ledger, inbox := &slate{err: core.ErrStorageFull}, newMailbox()
		j := newJournal(ledger, inbox.post, slog.New(slog.NewTextHandler(&log, nil)))
		saved := false
		pass := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(firstSaveRetry) {
				for range 3 { // functions post functions
					inbox.drain(func() {})
				}
			}
		}
		j.save(core.Change{Requeue: []core.MessageID{"a"}}, func() { saved = true }, nil)
		pass(time.Hour)
		if ledger.err = nil; saved {
			t.Fatal("written during the outage")
		}
		if pass(time.Second); !saved {
			t.Error("not written a second after the outage")
		}
		if n := strings.Count(log.String(), "not written yet"); n != 1 {
			t.Errorf("logged %d times", n)
		}
	})
}

// TestJournal: what the storage refuses is written later, in order, with pauses that grow. A
// change that contradicts the record is not repeated.
func TestJournal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := &slate{}
		inbox := newMailbox()
		j := newJournal(ledger, inbox.post, slog.New(slog.DiscardHandler))
		drain := func() {
			for range 3 { // functions post functions
				inbox.drain(func() {})
			}
		}
		var done []string
		missed := 0
		save := func(id string) {
			j.save(core.Change{Requeue: []core.MessageID{core.MessageID(id)}}, func() { done = append(done, id) }, func(error) { missed++ })
			drain()
		}
		pass := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
			drain()
		}
		wants := func(ids ...string) {
			t.Helper()
			if !slices.Equal(ledger.written, ids) || !slices.Equal(done, ids) {
				t.Errorf("written %q, done %q, want %q", ledger.written, done, ids)
			}
		}
		save("a")
		wants("a")
		ledger.err = core.ErrStorage
		save("b")
		save("c")
		if j.isIdle() || missed != 2 {
			t.Errorf("idle %v, %d misses told", j.isIdle(), missed)
		}
		pass(firstSaveRetry) // b and c fail again
		ledger.err = nil
		wants("a")
		pass(2 * firstSaveRetry)
		wants("a", "b", "c")
		if !j.isIdle() || j.pauses.Failures() != 0 {
			t.Errorf("idle %v, %d failures in a row", j.isIdle(), j.pauses.Failures())
		}
		ledger.err = errors.New("contradiction")
		save("d")
		ledger.err = nil
		pass(time.Hour)
		if !j.isIdle() || !slices.Equal(done, []string{"a", "b", "c", "d"}) || len(ledger.written) != 3 {
			t.Errorf("idle %v, done %q, written %q", j.isIdle(), done, ledger.written)
		}
		ledger.err = core.ErrStorageFull
		var tried error
		j.try(core.Change{}, func(err error) { tried = err })
		if pass(0); !errors.Is(tried, core.ErrStorageFull) {
			t.Errorf("try: %v", tried)
		}
	})
}
