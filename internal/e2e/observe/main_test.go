// Package observe tests observers on real web apps.
package observe

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.MainWithoutRace(m) }
