package proc

import (
	"os"
	"slices"
	"strconv"
	"testing"

	"bareclaw/internal/testkit/check"
)

const marker = "PROCS_TEST_MARKER"

func TestByEnviron(t *testing.T) {
	t.Parallel()
	// The test's own id makes the value unique among runs at the same time.
	value := strconv.Itoa(os.Getpid())
	first, second := child(t, marker+"="+value), child(t, marker+"="+value)
	child(t, marker+"="+value+"0")
	child(t, "X"+marker+"="+value)
	want := []Process{started(t, first), started(t, second)}
	got, err := ByEnviron(marker, func(v string) bool { return v == value })
	check.OK(t, err)
	byPID := func(a, b Process) int { return a.PID - b.PID }
	slices.SortFunc(got, byPID)
	slices.SortFunc(want, byPID)
	if !slices.Equal(got, want) {
		t.Errorf("ByEnviron = %v, want %v", got, want)
	}
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	const rest = " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"
	rows := []struct {
		stat string
		want uint64
	}{
		{"7 (cat) S" + rest, 4711},
		{"7 (a) Z 1 (b) 0) S" + rest, 4711}, // a name made to look like fields
		{"7 (\n) R" + rest, 4711},
	}
	for _, row := range rows {
		if got, err := parseStat([]byte(row.stat)); err != nil || got.start != row.want || got.parent != 1 || got.zombie || got.threads != 17 {
			t.Errorf("parseStat(%q) = %+v, %v, want %d", row.stat, got, err, row.want)
		}
	}
	for _, state := range []string{"Z", "X"} {
		if s, err := parseStat([]byte("7 (cat) " + state + rest)); s.start != 4711 || !s.zombie || err != nil {
			t.Errorf("state %s: %+v, %v", state, s, err)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	for _, s := range []string{"", ")", "7 (cat) S", "7 (cat) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 -1 20"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, stat []byte) {
		if s, err := parseStat(stat); err != nil && s.start != 0 {
			t.Errorf("parseStat(%q) = %+v with error %v", stat, s, err)
		}
	})
}
