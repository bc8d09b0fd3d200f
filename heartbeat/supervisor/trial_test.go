package supervisor

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTrial reports the health of a program on trial once a second.
func TestTrial(t *testing.T) {
	t.Parallel()
	const well, unwell = "", "unwell"
	times := func(n int, what string) (all []string) {
		for range n {
			all = append(all, what)
		}
		return all
	}
	for name, c := range map[string]struct {
		reports []string
		want    string
	}{
		"well for the whole time": {times(31, well), "stays"},
		"not yet over":            {times(29, well), "goes on"},
		"a miss now and then":     {append(times(10, well), unwell, unwell, well, unwell, unwell), "goes on"},
		"three misses in a row":   {append(times(10, well), unwell, unwell, unwell), "goes"},
		"unwell at the end":       {append(times(31, unwell)[:2], well), "goes on"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tr := &trial{until: time.Now().Add(trialTime)}
				got := "goes on"
				for _, report := range c.reports {
					time.Sleep(lookTime)
					switch over, err := tr.report(report); {
					case err != nil:
						got = "goes"
					case over:
						got = "stays"
					}
				}
				if got != c.want {
					t.Errorf("the program %s, want %s", got, c.want)
				}
			})
		})
	}
}

// TestSilenceOnTrial: a worker may report nothing for less than maxSilence, again and again,
// and is ended by a longer silence.
func TestSilenceOnTrial(t *testing.T) {
	t.Parallel()
	for _, reports := range []int{0, 2} {
		synctest.Test(t, func(t *testing.T) {
			w := &worker{process: new(os.Process), phase: serving, trial: true} // no process: Kill fails
			s := &supervisor{current: w}
			s.beginTrial(w)
			for range reports {
				time.Sleep(maxSilence - time.Millisecond)
				synctest.Wait()
				if w.late.Load() {
					t.Fatal("a silence below the bound is the end")
				}
				s.onHealth(w, "")
			}
			time.Sleep(maxSilence + time.Millisecond)
			synctest.Wait()
			if !w.late.Load() || !strings.Contains(w.reason(nil).Error(), maxSilence.String()) {
				t.Errorf("a silence above the bound is borne, after %d reports", reports)
			}
		})
	}
}

// TestRejectedWorkerThatHangs: a rejected worker that says that it is ending, and hangs, is
// killed all the same.
func TestRejectedWorkerThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &worker{process: new(os.Process), phase: serving, trial: true} // no process: Kill fails
		s := &supervisor{current: w, Options: Options{Log: slog.New(slog.DiscardHandler)}}
		s.beginTrial(w)
		for range maxMisses {
			s.take(event{worker: w, message: message{Kind: msgHealth, Error: "unwell"}})
		}
		s.take(event{worker: w, message: message{Kind: msgStopping}})
		time.Sleep(endGrace + time.Millisecond)
		synctest.Wait()
		if !w.late.Load() {
			t.Error("the worker goes on")
		}
	})
}
