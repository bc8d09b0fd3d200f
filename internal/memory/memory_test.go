package memory

import (
	"runtime"
	"testing"
)

func TestTotal(t *testing.T) {
	t.Parallel()
	if got := Total(); got < 64<<20 || got > 1<<50 {
		t.Errorf("%d bytes", got)
	}
}

func TestAvailable(t *testing.T) {
	t.Parallel()
	if got := Available(); got == 0 && runtime.GOOS == "linux" || got > Total() {
		t.Errorf("%d bytes of %d", got, Total())
	}
}

func TestParseAvailable(t *testing.T) {
	t.Parallel()
	for meminfo, want := range map[string]uint64{
		"MemTotal:  9 kB\nMemFree:  1 kB\nMemAvailable:     1234 kB\nBuffers: 1 kB\n": 1234 << 10,
		"MemAvailable: 7":                   7 << 10,
		"MemTotal:  9 kB\nMemFree:  1 kB\n": 0,
		"MemAvailable:":                     0,
		"MemAvailable: many kB":             0,
		"":                                  0,
	} {
		if got := parseAvailable([]byte(meminfo)); got != want {
			t.Errorf("%q: %d, want %d", meminfo, got, want)
		}
	}
}
