package memory

import "testing"

func TestTotal(t *testing.T) {
	t.Parallel()
	if got := Total(); got < 64<<20 || got > 1<<50 {
		t.Errorf("%d bytes", got)
	}
}
