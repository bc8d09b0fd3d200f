// Package restart tests that a restart, a hand-over and an upgrade lose nothing.
package restart

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
