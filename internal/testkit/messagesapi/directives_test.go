package messagesapi_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"bareclaw/internal/testkit/messagesapi"
)

func TestTextDirectives(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	for said, want := range map[string]string{
		"hello":            "ok: hello",
		"echo":             "",
		"echo hello world": "hello world",
		"[channel: http, adapter: http]\necho hi":                    "hi",
		"[channel: http, adapter: http]\nplain":                      "ok: [channel: http, adapter: http]\nplain",
		"<system-reminder>\necho no\n</system-reminder>\n\necho yes": "yes",
		"one\n\necho two\n\necho three":                              "two",
		"echoes of the past":                                         "ok: echoes of the past",
		"tool: no name":                                              "ok: tool: no name",
		"echo:x no tool":                                             "ok: echo:x no tool",
		"delay 0 late":                                               "late",
		"slow 0":                                                     "done slow",
		"schema-text prose":                                          "prose",
		"toolnames":                                                  "Agent,Bash",
		"image":                                                      "0 image(s)",
		"size\n12345":                                                "10 bytes",
		"sysprompt":                                                  "len=0 tail=",
		"think deeply":                                               "deeply",
		"usage 7 9":                                                  "ok",
		"error 500 model=another":                                    "recovered",
		strings.Repeat("é", 300):                                     "ok: " + strings.Repeat("é", 100),
		"<system-reminder>unclosed\necho x":                          "x",
		"[Image: source: /a/b.png]\necho x":                          "ok: ",
		"The user sent a new message while you were working:\necho steer": "steer",
	} {
		if got := reply(t, s, said); got != want {
			t.Errorf("%q: reply %q, want %q", said, got, want)
		}
	}
}

func TestReasonAndUsage(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	_, a := ask(t, s, conversation(user("maxtokens cut of")))
	if a.StopReason != "max_tokens" || a.text() != "cut of" {
		t.Errorf("maxtokens: %+v", a)
	}
	if _, a = ask(t, s, conversation(user("refuse"))); a.StopReason != "refusal" {
		t.Errorf("refuse: %+v", a)
	}
	_, a = ask(t, s, conversation(user("usage 12 34 some text")))
	if a.Usage.In != 12 || a.Usage.Out != 34 || a.text() != "some text" || a.StopReason != "end_turn" {
		t.Errorf("usage: %+v", a)
	}
}

func TestToolTurn(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	for _, tc := range []struct {
		said      string
		rounds    int // replies with calls before the last
		perReply  int
		wantInput string
	}{
		{"tool:bash echo hi", 1, 1, `{"command":"echo hi","description":"scripted call"}`},
		{`tool:agent {"prompt":"p"}`, 1, 1, `{"prompt":"p"}`},
		{"tool:read /etc/hosts", 1, 1, `{"file_path":"/etc/hosts"}`},
		{"tools:bash 3 true", 3, 1, `{"command":"true","description":"scripted call"}`},
		{"par:bash 2 true", 1, 2, `{"command":"true","description":"scripted call"}`},
		{`seq [{"name":"bash","input":{"a":1}},{"name":"mcp__x__y","input":{"a":1}}]`, 2, 1, `{"a":1}`},
		{`schema {"a":1}`, 1, 1, `{"a":1}`},
	} {
		messages := list{user("echo earlier"), assistant("earlier"), user(tc.said)}
		for round := range tc.rounds {
			_, a := ask(t, s, conversation(messages...))
			if a.StopReason != "tool_use" || len(a.Content) != tc.perReply || string(a.Content[0].Input) != tc.wantInput {
				t.Fatalf("%s, round %d: %+v", tc.said, round, a)
			}
			var calls, results list
			for _, b := range a.Content {
				calls = append(calls, object{"type": "tool_use", "id": b.ID, "name": b.Name, "input": b.Input})
				results = append(results, toolResult(b.ID, "out"))
			}
			messages = append(messages, assistant(calls), user(results))
		}
		_, a := ask(t, s, conversation(messages...))
		if want := "call(s): out"; a.StopReason != "end_turn" || !strings.Contains(a.text(), want) {
			t.Errorf("%s: final %+v, want %q", tc.said, a, want)
		}
	}
}

func TestOfferedToolIsFoundWithoutRegardToCase(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	for said, want := range map[string]string{"tool:bash true": "Bash", `tool:Unoffered {}`: "Unoffered"} {
		if _, a := ask(t, s, conversation(user(said))); len(a.Content) != 1 || a.Content[0].Name != want {
			t.Errorf("%s: %+v, want a call of %s", said, a, want)
		}
	}
}

func TestWrongSchemaIsRepeated(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	_, a := ask(t, s, conversation(user(`schema-wrong {"x":1}`), assistant(list{toolUse("t1")}), user(list{toolResult("t1", "no")})))
	if len(a.Content) != 1 || a.Content[0].Name != "StructuredOutput" {
		t.Errorf("second reply: %+v, want another call", a)
	}
}

func TestSteeredMessageReplacesTheDirective(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	tail := "\n\nThis is how Claude Code surfaces messages the user sends mid-turn."
	steer := func(said string) object {
		return conversation(user("tools:bash 9 true"), assistant(list{toolUse("t1")}), user(list{toolResult("t1", "out")}),
			system("The user sent a new message while you were working:\n"+said+tail))
	}
	if _, a := ask(t, s, steer("echo changed")); a.text() != "changed" {
		t.Errorf("with a directive: %+v", a)
	}
	if _, a := ask(t, s, steer("plain words")); a.StopReason != "tool_use" {
		t.Errorf("without one the turn goes on; got %+v", a)
	}
	if _, a := ask(t, s, steer("history")); !strings.Contains(a.text(), "3 system text: history\n") {
		t.Errorf("history: %q", a.text())
	}
}

func TestInterruptedTurnIsOver(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	_, a := ask(t, s, conversation(user(list{text("slow 60"), text("[Request interrupted by user]"), text("and now?")})))
	if a.text() != "ok: and now?" {
		t.Errorf("reply %q", a.text())
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	_, a := ask(t, s, conversation(
		user(list{text("<system-reminder>x</system-reminder>"), text("tool:bash true")}), system("environment"),
		assistant(list{toolUse("t1")}), user(list{toolResult("t1", "a\nb")}), assistant("final"),
		user(list{image("image/png", "AAAA"), text("history")})))
	want := "0 user text: tool:bash true\n2 assistant tool_use: Bash {\"command\":\"true\"}\n3 user tool_result: \"a\\nb\"\n" +
		"4 assistant text: final\n5 user image\n5 user text: history\n"
	if got := a.text(); got != want {
		t.Errorf("history:\n%s\nwant:\n%s", got, want)
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	_, a := ask(t, s, conversation(user(list{image("image/png", "AAAA"), text("image"), image("image/jpeg", "AAAA"), text("[Image: source: /x]")})))
	if want := "2 image(s): image/png, image/jpeg"; a.text() != want {
		t.Errorf("reply %q, want %q", a.text(), want)
	}
}

func TestErrorDirectives(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	for said, want := range map[string]string{
		"error 401": "authentication_error", "error 429": "rate_limit_error", "error 529": "overloaded_error",
		"error 500": "api_error", "error 403 model=claude-test": "permission_error", "error 413": "request_too_large",
		"error 402": "billing_error", "error 404": "not_found_error", "error 504": "timeout_error", "error 418": "invalid_request_error",
	} {
		status, a := ask(t, s, conversation(user(said)))
		if a.Type != "error" || a.Error.Type != want || "scripted error "+strconv.Itoa(status) != a.Error.Message || !strings.HasPrefix(said, "error "+strconv.Itoa(status)) {
			t.Errorf("%s: status %d, %+v, want %s", said, status, a, want)
		}
	}
	for i, want := range []int{529, 529, 200, 200} {
		if status, _ := ask(t, s, conversation(user("error 529 x2"))); status != want {
			t.Errorf("error 529 x2, request %d: status %d, want %d", i+1, status, want)
		}
	}
}

func TestSenselessArgumentIsRefused(t *testing.T) {
	t.Parallel()
	s := messagesapi.Start(t)
	for _, said := range []string{
		"error", "error 200", "error 500 often", "slow", "slow -1", "slow NaN", "delay 4000", "gate", "tools:bash x", "par:bash 0", "seq {",
		`seq [{"name":"x"}]`, "schema text", "tool:write text", "usage", "usage 1", "usage 0 0", "usage a b",
	} {
		status, a := ask(t, s, conversation(user(said)))
		if status != http.StatusBadRequest || !strings.Contains(a.Error.Message, "stand-in") {
			t.Errorf("%s: status %d, %+v", said, status, a)
		}
	}
}
