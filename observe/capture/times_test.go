package capture

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestTimesOfTheApp: no time that an app tells is later than now, or long before the observer began.
func TestTimesOfTheApp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		began := time.Now()
		time.Sleep(time.Hour)
		for n, c := range []struct {
			told time.Time
			want time.Time
		}{
			{time.Now().AddDate(10, 0, 0), time.Now()},
			{time.Now().Add(-time.Minute), time.Now().Add(-time.Minute)},
			{began.AddDate(-10, 0, 0), began.Add(-lateUntil)},
			{time.Time{}, time.Now()},
		} {
			r := request(n, "/a")
			r.Span = SpanID{}
			r.Trace = TraceID{}
			r.Started = c.told
			r.Status = http.StatusOK
			r.End = Complete
			s.End(Raw{Request: r})
			s.Signal(Signal{
				Request: r.ID,
				At:      c.told,
				Query:   &Query{At: c.told, Text: "SELECT 1"},
				Fetch:   &Fetch{At: c.told},
				Log:     &Log{At: c.told},
				Fault:   &Fault{At: c.told},
			})
			synctest.Wait()
			kept, _ := s.Request(r.ID)
			for _, at := range []time.Time{kept.Started, kept.Queries[0].At, kept.Fetches[0].At, kept.Logs[0].At, kept.Faults[0].At} {
				if !at.Equal(c.want) {
					t.Errorf("%v becomes %v, want %v", c.told, at, c.want)
				}
			}
		}
		if last := s.Endpoints()[0].Total.Last; last.After(time.Now()) {
			t.Errorf("the last one ended %v", last)
		}
	})
}
