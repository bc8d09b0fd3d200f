// Package setup tests the commands that help a person to start: init and doctor.
package setup

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.MainWithoutRace(m) }
