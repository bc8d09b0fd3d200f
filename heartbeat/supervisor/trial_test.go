package supervisor

import (
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
