// Package check has the assertions that tests of all packages need.
package check

import (
	"testing"
	"time"
)

// OK ends the test if err is not nil.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Eventually waits until cond holds, and ends the test after patience. It is for what only a file
// or another process can tell. The pauses grow with the wait, so that many waiting tests leave the
// machine to what they wait for.
func Eventually(t testing.TB, patience time.Duration, what string, cond func() bool) {
	t.Helper()
	const shortest, longest = 2 * time.Millisecond, 400 * time.Millisecond
	for begun := time.Now(); !cond(); {
		waited := time.Since(begun)
		if waited > patience {
			t.Fatalf("waited in vain: %s", what)
		}
		<-time.After(min(max(waited/5, shortest), longest))
	}
}
