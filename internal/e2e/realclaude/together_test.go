package realclaude

import (
	"encoding/json"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

// TestRealGoesOn sends a comment, and within a second what it is about: claude begins again with both,
// and the chat has one answer.
func TestRealGoesOn(t *testing.T) {
	api := botapi.New(t, botapi.WithoutRates())
	anna := api.User(7, "Anna", "Arden", "anna")
	chat := api.Private(anna)
	m, g := harness.StartReal(t, harness.BotSettings(api, anna)...)
	chat.Send(anna, "echo before")
	chat.AwaitText("before")
	began := time.Now()
	chat.Send(anna, "gate go first second")
	m.Eventually("claude has asked the model", func() bool { return m.Asked("gate go") == 1 })
	chat.Send(anna, "the thing", botapi.WithMembers(json.RawMessage(`{"forward_origin":{"type":"hidden_user","date":1,"sender_user_name":"Dee"}}`)))
	if time.Since(began) > time.Second {
		t.Skip("this machine is too busy to send both within a second")
	}
	m.Eventually("both are asked about", func() bool { return m.Asked("gate go first second\n\nForwarded from Dee:\nthe thing") > 0 })
	m.Release("go")
	chat.AwaitText("first second")
	if n := g.Balanced(); n != 3 || harness.CountText(chat, "first second") != 1 || harness.CountText(chat, "⏹") != 0 {
		t.Errorf("%d messages were accepted, and the chat has %v", n, harness.Texts(chat))
	}
}
