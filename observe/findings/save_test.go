package findings

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/internal/testkit/check"
)

// TestRunSaves: a new state is saved at once, counts after 10 s, and everything when the observer ends.
func TestRunSaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newApp(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			a.store.Run(ctx)
			close(ended)
		}()
		saved := func() int {
			t.Helper()
			s, err := OpenStore(a.dir, a.stores, slog.New(slog.DiscardHandler))
			check.OK(t, err)
			all := s.All()
			if len(all) != 1 {
				t.Fatalf("saved are %+v", all)
			}
			return all[0].Occurrences
		}
		a.store.Judge(a.request(flaw(7)))
		synctest.Wait()
		if saved() != 1 {
			t.Error("a new finding is not saved at once")
		}
		<-a.store.Changed()
		a.store.Judge(a.request(flaw(7)))
		synctest.Wait()
		if saved() != 1 {
			t.Error("a count is saved at once")
		}
		time.Sleep(saveInterval)
		synctest.Wait()
		if saved() != 2 {
			t.Error("a count is not saved after some time")
		}
		a.store.Judge(a.request(flaw(7)))
		cancel()
		<-ended
		if saved() != 3 {
			t.Error("a count is not saved at the end")
		}
	})
}
