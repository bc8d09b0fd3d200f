package telegram

import (
	"testing"

	"bareclaw/internal/testkit/botapi"
)

// tapAnswer returns what was shown to who tapped.
func tapAnswer(t testing.TB, api *botapi.Server, tap botapi.Tap) string {
	t.Helper()
	var a botapi.Answer
	api.Await(t, "answer to the tap", func() (ok bool) {
		a, ok = tap.Answer()
		return ok
	})
	return a.Text
}
