// Package soak lets channels of mixed traffic run while chaos kills, restarts and ends
// processes, and then audits everything: traffic_test.go, chaos_test.go, audit_test.go. All
// random choices come from one seed, which BARECLAW_TEST_SEED repeats as far as timing lets
// it. BARECLAW_TEST_SOAK says how long a run lasts; 1 stands for five minutes.
package soak

import (
	"testing"

	"bareclaw/internal/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
