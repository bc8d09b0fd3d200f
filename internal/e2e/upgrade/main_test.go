// Package upgrade tests that the program replaces itself: by what is built from its source,
// by another release, and back by the one before.
package upgrade

import (
	"errors"
	"os"
	"testing"

	"bareclaw/heartbeat/program"
	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.MainWithoutRace(m) }

// holds fails unless the files beside the program are the releases; empty means none.
func holds(m *harness.Machine, now, old, failed string) {
	m.T.Helper()
	for suffix, name := range map[string]string{"": now, ".old": old, ".failed": failed, ".next": ""} {
		have, err := program.Sum(m.Program + suffix)
		want := ""
		if name != "" {
			want, _ = program.Sum(harness.ReleaseOf(m.T, name))
		} else if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		if err != nil || have != want {
			m.T.Errorf("bareclaw%s is not release %q (%v)", suffix, name, err)
		}
	}
}
