// Package restart tests that a restart and a hand-over lose nothing.
package restart

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.MainWithoutRace(m) }
