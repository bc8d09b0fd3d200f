package roottest

import (
	"strings"
	"testing"
)

// fakeTB notes how a test was ended.
type fakeTB struct {
	testing.TB
	said string
}

func (f *fakeTB) Helper() {}

func (f *fakeTB) Fatalf(format string, _ ...any) { f.said = "failed: " + format }

func (f *fakeTB) Skipf(format string, _ ...any) { f.said = "skipped: " + format }

func TestUnavailable(t *testing.T) {
	for value, want := range map[string]string{"": "skipped: NOT TESTED: a disk", "0": "skipped: NOT TESTED: a disk", "1": "failed: BARECLAW_REQUIRE_ROOT=1"} {
		t.Setenv(RequireVariable, value)
		var f fakeTB
		if Unavailable(&f, "a disk"); !strings.HasPrefix(f.said, want) {
			t.Errorf("with %q it has %q, want %q", value, f.said, want)
		}
	}
}
