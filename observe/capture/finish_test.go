package capture

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestFinish: what has ended when the app ends is looked at, also what waits for telemetry, and proves nothing then.
func TestFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(Options{})
		s.run.told = true
		s.run.spans = true
		for _, id := range []string{"a", "b"} {
			r := Request{
				ID:      id,
				Method:  "GET",
				URL:     "/" + id,
				Status:  200,
				End:     Complete,
				Started: time.Now(),
			}
			s.Begin(r)
			s.End(Raw{Request: r})
		}
		begun := time.Now()
		s.Finish()
		for _, id := range []string{"a", "b"} {
			look, err := s.Next(t.Context())
			if err != nil || look.Request.ID != id || look.Settled {
				t.Errorf("looked at %+v, %v; want %s, not settled", look, err, id)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if look, err := s.Next(ctx); !errors.Is(err, ErrFinished) {
			t.Errorf("more is looked at: %+v, %v", look, err)
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("it took %s", took)
		}
	})
}
