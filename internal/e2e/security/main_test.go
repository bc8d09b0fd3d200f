// Package security tries on a gateway what an attacker would try. The table in docs/security.md
// names the test of each row.
package security

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
