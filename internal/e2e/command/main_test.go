// Package command tests the commands of the program, on a terminal and off it.
package command

import (
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/oddserver"
)

func TestMain(m *testing.M) {
	oddserver.Main() // of the mounted servers
	harness.MainWithoutRace(m)
}
