// Package observe tests observers, as processes and on real web apps.
package observe

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.MainWithoutRace(m) }
