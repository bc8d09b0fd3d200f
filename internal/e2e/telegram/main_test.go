// Package telegram tests the gateway as a person in a Telegram chat sees it.
package telegram

import (
	"flag"
	"strconv"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// TestMain runs three times as many tests at once as elsewhere: the tests spend most of their
// time waiting for the pauses between two calls to Telegram. The tests of the adapter and the
// soak watch the same paths with the race detector.
func TestMain(m *testing.M) {
	flag.Parse()
	parallel := flag.Lookup("test.parallel").Value.(flag.Getter)
	if err := parallel.Set(strconv.Itoa(3 * parallel.Get().(int))); err != nil {
		panic(err)
	}
	harness.MainWithoutRace(m)
}
