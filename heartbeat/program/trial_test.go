package program

import (
	"sync"
	"testing"

	"bareclaw/internal/testkit/check"
)

// TestAmendTogether has a worker note that it was told to end while the supervisor confirms its
// program: a trial that is over stays over.
func TestAmendTogether(t *testing.T) {
	t.Parallel()
	for range 20 {
		dir := t.TempDir()
		check.OK(t, (&Trial{State: OnTrial}).Save(dir))
		var both sync.WaitGroup
		for _, change := range []func(*Trial){
			func(t *Trial) { t.End(Confirmed, "") },
			func(t *Trial) { t.Leaving = true },
		} {
			both.Go(func() {
				if _, err := Amend(dir, change); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if got, err := Load(dir); err != nil || got.State != Confirmed {
			t.Fatalf("the record is %+v, %v", got, err)
		}
	}
}
