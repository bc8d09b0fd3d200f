// Package crash tests that the death of any process, a full disk and a misbehaving claude lose nothing.
package crash

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.MainWithoutRace(m) }
