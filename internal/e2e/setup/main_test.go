// Package setup tests the commands that help a person to start: init and doctor.
package setup

import (
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/oddserver"
)

func TestMain(m *testing.M) {
	oddserver.Main() // of the mounted servers
	harness.MainWithoutRace(m)
}
