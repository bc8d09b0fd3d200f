// Package upgrade tests that the program replaces itself: by what is built from its source,
// by another release, and back by the one before.
package upgrade

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.MainWithoutRace(m) }
