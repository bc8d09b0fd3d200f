// Package roottest gives tests what only root has, such as small disks, and ends tests that need
// what is missing: those disks, other users, PID namespaces. CI requires them.
package roottest

import (
	"os"
	"testing"
)

// RequireVariable makes a missing privilege a failure when it is 1.
const RequireVariable = "BARECLAW_REQUIRE_ROOT"

// Unavailable skips the test, saying what is not tested, or fails the test if
// BARECLAW_REQUIRE_ROOT is 1.
func Unavailable(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv(RequireVariable) == "1" {
		t.Fatalf(RequireVariable+"=1, but this cannot be tested: "+format, args...)
		return
	}
	t.Skipf("NOT TESTED: "+format, args...)
}
