// Package schedule tests schedules over clocks, restarts and kills.
package schedule

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.MainWithoutRace(m) }
