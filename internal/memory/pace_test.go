package memory

import (
	"runtime/debug"
	"testing"
)

func TestPercentFor(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		marked uint64
		want   int
	}{
		{0, maxPercent}, {mib, maxPercent}, {4 * mib, 150}, {6 * mib, 100}, {12 * mib, 50}, {100 * mib, minPercent},
	} {
		if got := percentFor(6*mib, c.marked); got != c.want {
			t.Errorf("with %d bytes marked: %d %%, want %d %%", c.marked, got, c.want)
		}
	}
}

func TestAdjust(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	(&pacer{room: 1 << 40, percent: usualPercent}).adjust()
	if got := debug.SetGCPercent(usualPercent); got != maxPercent {
		t.Errorf("the collector's percentage is %d, want %d", got, maxPercent)
	}
}
