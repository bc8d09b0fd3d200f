package httpapi

import (
	"strings"
	"testing"

	"bareclaw/core"
)

// The reply of a coalesced message has the text of the message that carries it, if that
// came in through another adapter; a message of another adapter stays as it is.
func TestCarriedByAnotherAdapter(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := newRig(t, f, nil)
	carrier := core.MessageID(r.send("POST", "/message", `{"text":"a"}`, "Prefer", "respond-async").field(t, "message_id").(string))
	f.settle(carrier, core.Reply{State: core.Answered, Text: "the answer"})
	for via, want := range map[string]string{"telegram": "the answer", "": ""} {
		f.reply = func(m *core.Message) {
			settle(m, core.Reply{State: core.Answered, Coalesced: true, Into: carrier, Via: via})
		}
		a := r.send("POST", "/message", `{"text":"b"}`)
		id, _ := a.field(t, "message_id").(string)
		for _, got := range []answer{a, r.send("GET", "/messages/"+id, ""), r.send("GET", "/messages/"+id+"?wait=1s", "")} {
			if got.field(t, "text") != want || got.field(t, "coalesced") != true || got.field(t, "into") != string(carrier) {
				t.Errorf("via %q: %s", via, got.body)
			}
		}
		stream := r.send("POST", "/message", `{"text":"c"}`, "Accept", "text/event-stream")
		if has := strings.Contains(stream.body, "the answer"); has != (want != "") {
			t.Errorf("via %q: %s", via, stream.body)
		}
	}
	f.reply = func(m *core.Message) {
		settle(m, core.Reply{State: core.Answered, Coalesced: true, Into: "gone", Via: "telegram"})
	}
	if a := r.send("POST", "/message", `{"text":"d"}`); a.field(t, "text") != "" || a.field(t, "into") != "gone" {
		t.Errorf("a carrier that is not there: %s", a.body)
	}
}
