// Package ledgertest tests implementations of [core.Ledger] by one suite, and has the records
// that their own tests use.
//
// The suite states what every ledger promises, besides what the interfaces say: what is written
// is read whole, also after a restart; what is written again after a crash counts once; a change
// that is refused leaves nothing behind and spares the changes beside it.
package ledgertest

import (
	"context"
	"testing"

	"bareclaw/core"
	"bareclaw/core/schedule"
	"bareclaw/internal/testkit/check"
)

// A Ledger is what a gateway keeps its records in.
type Ledger interface {
	core.Ledger
	schedule.Store

	// NextGeneration increments the generation and returns the new value once durable. The
	// first value is 1.
	NextGeneration(ctx context.Context) (int64, error)
	// Close writes what was written before, lazy changes too. Later calls of every method fail
	// with [core.ErrClosed], except that Close may be called again.
	Close() error
}

// A Subject is an implementation under test.
type Subject struct {
	// Open opens the ledger kept in a directory, and makes the ledger if there is none. The
	// caller closes the ledger.
	Open func(dir string) (Ledger, error)
	// Break makes each write to the open ledger in the directory fail with
	// [core.ErrStorage] or [core.ErrStorageFull], until mend is called.
	Break func(t testing.TB, dir string) (mend func())
}

// Run runs the suite. The tests run in parallel, each on a ledger of its own.
func Run(t *testing.T, s Subject) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Subject)
	}{
		{"message keeps everything", testMessageKeepsEverything},
		{"turn keeps everything", testTurnKeepsEverything},
		{"unknown is not found", testUnknownIsNotFound},
		{"order is that of acceptance", testOrderIsThatOfAcceptance},
		{"first outcome counts", testSettleCountsOnce},
		{"amend", testAmend},
		{"reorder", testReorder},
		{"requeue", testRequeue},
		{"ids of messages", testMessageIDs},
		{"approvals", testApprovals},
		{"background results", testBackgrounds},
		{"use of sessions", testSessionUse},
		{"total of a session", testSessionTotal},
		{"spending", testSpending},
		{"refused spending", testSpendingIsOfItsChange},
		{"usage of a channel", testUsageOfAChannel},
		{"deliveries", testDeliveries},
		{"inbounds", testInbox},
		{"records", testRecords},
		{"settings", testSettings},
		{"forget a channel", testForget},
		{"schedules", testSchedules},
		{"changed job", testReplaceJob},
		{"clock set back", testSetBack},
		{"clock was fast", testForgottenAfterTheClockWasFast},
		{"old occurrences", testOccurrencesAreForgotten},
		{"runs of built-in jobs", testPutOccurrences},
		{"messages of schedules", testSourceMessages},
		{"write copies the records", testWriteReadsRecordsBeforeItReturns},
		{"reads see earlier writes", testReadsSeeEarlierWrites},
		{"callbacks are in order", testCallbacksAreInOrder},
		{"lazy changes", testLazyChanges},
		{"many goroutines", testManyGoroutines},
		{"progress", testProgress},
		{"generation", testGeneration},
		{"duplicate source key", testDuplicateSourceKey},
		{"duplicates written together", testDuplicateWithinOneGroup},
		{"source key is freed", testSourceKeyIsFreed},
		{"message again", testArrivalAgain},
		{"contradictions fail alone", testContradictionsFailAlone},
		{"storage fails for a while", testTryAgain},
		{"after close", testAfterClose},
		{"reads during close", testReadWhileClosing},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, s)
		})
	}
}

// open opens a ledger without records.
func (s Subject) open(t testing.TB) Ledger {
	t.Helper()
	return s.openIn(t, t.TempDir())
}

// openIn opens the ledger in a directory until the end of the test.
func (s Subject) openIn(t testing.TB, dir string) Ledger {
	t.Helper()
	l, err := s.Open(dir)
	check.OK(t, err)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}
