package http

import (
	"encoding/json"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// calls is a message that has the scripted claude call a tool of the gateway.
func calls(t *testing.T, tool string, args harness.Obj) string {
	t.Helper()
	b, err := json.Marshal(args)
	check.OK(t, err)
	return "mcp - " + tool + " " + string(b)
}

// TestGatewayTools has sessions call each tool of the gateway, well and badly.
func TestGatewayTools(t *testing.T) {
	_, g := harness.Started(t)
	for _, channel := range []string{"alpha", "beta", "gamma", "delta", "epsilon"} {
		g.Usable(channel)
	}
	send := func(channel, text string) string {
		return calls(t, "channel_send", harness.Obj{"channel": channel, "text": text})
	}
	for _, c := range []struct {
		text string
		says []string
	}{
		{calls(t, "channel_list", nil), []string{`"channel":"alpha","own":true`, `"channel":"beta"`}},
		{send("beta", "echo pong"), []string{`"channel":"beta"`, `"state":"answered","reply":"pong"`}},
		{send("beta", "prompt"), []string{`[channel: beta, adapter: channel_send, user: alpha]`}},
		{send("beta", "apierror 500"), []string{`"state":"failed"`, `"error":`}},
		{send("alpha", "echo x"), []string{"is your own channel"}},
		{send("bta", "echo x"), []string{`there is no channel \"bta\"; did you mean beta?`}},
		{send("beta", send("alpha", "echo x")), []string{`channel \\\"alpha\\\" waits for an answer of yours`}},
		{send("beta", send("gamma", send("alpha", "echo x"))), []string{"waits for an answer of yours"}},
		{send("beta", send("gamma", send("delta", "echo deep"))), []string{"deep"}},
		{send("beta", send("gamma", send("delta", send("epsilon", "echo x")))), []string{"is the last of 3 from channel to channel"}},
		{calls(t, "channel_send", harness.Obj{"channel": "beta"}), []string{`"text"`}},
		{calls(t, "push_send", harness.Obj{"channel": "tg-1", "text": "x"}), []string{"no adapter for people"}},
		{calls(t, "push_send", harness.Obj{"channel": "tg-1"}), []string{"a text that is not blank, or a file"}},
		{calls(t, "schedule_create", harness.Obj{"text": "echo x", "when": "in 3h", "channel": "beta", "budget_usd": 1}), []string{`"channel":"beta"`, `"budget_usd":1`, `"next":["`}},
		{calls(t, "schedule_create", harness.Obj{"text": "echo x", "when": "soon"}), []string{`when: `, "does not say when"}},
		{calls(t, "schedule_create", harness.Obj{"text": "echo x", "when": "in 3h", "channel": "bta"}), []string{"did you mean beta?"}},
		{calls(t, "schedule_create", harness.Obj{"text": "echo x", "when": "in 3h", "precheck": "true"}), []string{"precheck"}},
		{calls(t, "schedule_create", harness.Obj{"text": "echo own", "when": "in 3h"}), []string{`"channel":"alpha"`}},
		{calls(t, "schedule_list", nil), []string{`"channel":"beta","when":"at `, `"channel":"alpha","text":"echo own"`}},
		{calls(t, "schedule_delete", harness.Obj{"id": "none"}), []string{`there is no schedule \"none\"`}},
		{calls(t, "message_trace", harness.Obj{"id": "none"}), []string{`there is no message \"none\"`}},
	} {
		text := g.Say("alpha", c.text).Str("text")
		quoted, err := json.Marshal(text) // so that all quotes are escaped once more
		check.OK(t, err)
		for _, want := range c.says {
			if !strings.Contains(text, want) && !strings.Contains(string(quoted), want) {
				t.Errorf("%s: %q, want %q in it", c.text, text, want)
			}
		}
	}
	id := g.Must("GET", "/schedules", nil, 200).Array("schedules")[0].Str("id")
	if text := g.Say("alpha", calls(t, "schedule_delete", harness.Obj{"id": id})).Str("text"); !strings.Contains(text, `"status":"deleted"`) {
		t.Errorf("schedule not deleted: %q", text)
	}
	g.Must("GET", "/schedules/"+id, nil, 404)
	if text := g.Say("alpha", calls(t, "message_trace", harness.Obj{"id": g.Say("beta", "echo traced").Str("message_id")})).Str("text"); !strings.Contains(text, `is of channel "beta"`) {
		t.Errorf("the trace of another channel's message is %q", text)
	}
	told := g.Tell("alpha", "echo traced")
	g.Outcome(told)
	if text := g.Say("alpha", calls(t, "message_trace", harness.Obj{"id": told})).Str("text"); !strings.Contains(text, `"reply":"traced"`) || !strings.Contains(text, `"what":"started"`) {
		t.Errorf("trace is %q", text)
	}
	g.Balanced()
}

// TestCallersHoldAllSessions has as many channels wait for another one as sessions may live: each
// ends in time, and the messages are answered then.
func TestCallersHoldAllSessions(t *testing.T) {
	_, g := harness.Started(t, "BARECLAW_MAX_SESSIONS=2")
	g.Usable("c")
	var ids []string
	for _, channel := range []string{"a", "b"} {
		ids = append(ids, g.Tell(channel, calls(t, "channel_send", harness.Obj{"channel": "c", "text": "echo seat", "wait_s": 2})))
	}
	waited := 0 // the first to end sees that both sessions are held
	for _, id := range ids {
		text := g.Outcome(id).Str("text")
		var sent struct {
			ID    string `json:"message_id"`
			State string
		}
		check.OK(t, json.Unmarshal([]byte(strings.TrimPrefix(text, "final: ")), &sent))
		if sent.State == "waiting" {
			waited++
		}
		if state := g.Outcome(sent.ID).Str("state"); state != "answered" {
			t.Errorf("the message is %s", state)
		}
	}
	if waited == 0 {
		t.Error("a caller had a reply although both sessions were held by callers")
	}
	g.Balanced()
}
