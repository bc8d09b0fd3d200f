// Package chromium finds the browser that tests use.
package chromium

import (
	"os"
	"os/exec"
	"testing"
)

// require makes a missing Chromium a failure when it is 1.
const require = "BARECLAW_REQUIRE_CHROMIUM"

// Path returns the path of the machine's Chromium. The test is skipped if there is none, unless the
// environment variable BARECLAW_REQUIRE_CHROMIUM is 1.
func Path(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err == nil {
		return path
	}
	if os.Getenv(require) == "1" {
		t.Fatal(err)
	}
	t.Skipf("NOT TESTED: web pages in a real browser: %v", err)
	return ""
}
