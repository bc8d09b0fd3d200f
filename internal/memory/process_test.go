package memory

import "testing"

func TestSizeIsReadFromItsLines(t *testing.T) {
	t.Parallel()
	const rollup = `00400000-7ffd2a1f7000 ---p 00000000 00:00 0                              [rollup]
Rss:               12000 kB
Pss:                8000 kB
Pss_Anon:           5000 kB
Anonymous:          6000 kB
Swap:                 no kB
`
	want := Size{
		Resident:     12000 << 10,
		Proportional: 8000 << 10,
		Anonymous:    6000 << 10,
	}
	if got := parseSize([]byte(rollup)); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := parseSize(nil); got != (Size{}) {
		t.Errorf("an empty file: %+v", got)
	}
}
