// Package realclaude runs the pinned CLI itself, through the daemon, against a scripted API
// on loopback. The tests show that the gateway's idea of claude is right, where the scripted
// claude of the other packages only shows that the gateway is consistent with itself.
package realclaude

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.MainWithoutRace(m) }
