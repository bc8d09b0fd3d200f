// Package observe tests observers of web apps, as processes.
package observe

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.MainWithoutRace(m) }
