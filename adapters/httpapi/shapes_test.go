package httpapi

import (
	"reflect"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// TestEveryFieldOfAReplyIsShown: a field of an outcome that the API does not show must say here why.
func TestEveryFieldOfAReplyIsShown(t *testing.T) {
	t.Parallel()
	notShown := map[string]string{
		"State": "the message's own state is shown",
		"Via":   "adapters alone look at it",
		"Done":  "the text of an interrupted turn has it",
	}
	whole := core.Reply{
		State: core.Failed, Text: "text", IsError: true, Code: "code", Error: "error", Coalesced: true, Into: "into", Via: "via",
		Duration: time.Second, CostUSD: 1, SessionID: "session", Done: "done", Notices: []core.Notice{{Code: "code", Text: "text"}},
	}
	shown := func(r core.Reply) string {
		b, err := marshal(showMessage(&core.Message{ID: "m", State: core.Failed, Reply: r}, core.QueuePosition{}, shortPrompt))
		check.OK(t, err)
		return string(b)
	}
	for i := range reflect.TypeFor[core.Reply]().NumField() {
		name, lacking := reflect.TypeFor[core.Reply]().Field(i).Name, whole
		field := reflect.ValueOf(&lacking).Elem().Field(i)
		if field.IsZero() {
			t.Errorf("the reply of this test has no %s", name)
		}
		field.SetZero()
		if isShown := shown(whole) != shown(lacking); isShown == (notShown[name] != "") {
			t.Errorf("%s of a reply is shown: %v", name, isShown)
		}
	}
}
