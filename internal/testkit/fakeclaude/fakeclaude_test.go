package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

const sid = "11111111-1111-4111-8111-111111111111"

func msgID(n byte) string { return "aaaaaaaa-0000-4000-8000-00000000000" + string('0'+n) }

// user is the line of the message with that number.
func user(n byte, text string) string {
	return string(encode(ordered{"type", "user", "uuid", msgID(n), "message", chat{"user", text}}))
}

// converse runs the program with that input and returns the names of its events and the
// texts of its results.
func converse(t *testing.T, stdin string) (shapes, results []string) {
	t.Helper()
	env := func(name string) string { return map[string]string{"CLAUDE_CONFIG_DIR": t.TempDir()}[name] }
	var stdout, stderr bytes.Buffer
	if code := run(append(strings.Fields(required), "--session-id", sid), env, strings.NewReader(stdin), &stdout, &stderr); code > 1 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	for line := range bytes.Lines(stdout.Bytes()) {
		var e struct {
			Type, Subtype, State, UUID, Result string
			Command                            string `json:"command_uuid"`
			IsReplay                           bool
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		switch {
		case e.Type == "command_lifecycle":
			shapes = append(shapes, e.State+" "+e.Command[len(e.Command)-1:])
		case e.IsReplay:
			shapes = append(shapes, "replay "+e.UUID[len(e.UUID)-1:])
		case e.Type == "stream_event":
		default:
			shapes = append(shapes, strings.TrimSpace(e.Type+" "+e.Subtype))
		}
		if e.Type == "result" {
			results = append(results, e.Result)
		}
	}
	return shapes, results
}

// TestOrderOfEvents has the order that version 2.1.329 of the real program was seen to keep.
func TestOrderOfEvents(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stdin, shapes, result string
	}{
		"plain": {user(1, "[channel: http, adapter: http]\nhi <b>"),
			"queued 1|started 1|system init|system status|replay 1|assistant|result success|completed 1", "ok: hi <b>"},
		"tool": {user(1, "tool 0 ls"),
			"queued 1|started 1|system init|system status|replay 1|assistant|user|assistant|result success|completed 1", "final: ran: ls"},
		"folded": {user(1, "tool 500 ls") + user(2, "more"),
			"queued 1|started 1|system init|system status|replay 1|assistant|queued 2|user|replay 2|started 2|assistant|completed 2|result success|completed 1",
			"final: ran: ls; noted: more"},
		"interrupted": {user(1, "slow 60000 x") + `{"type":"control_request","request_id":"r","request":{"subtype":"interrupt"}}` + "\n",
			"queued 1|started 1|system init|system status|control_response|replay 1|user|result error_during_execution|cancelled 1", ""},
		"refused": {user(1, "apierror 529"),
			"queued 1|started 1|system init|system status|replay 1|assistant|result success|cancelled 1", "API Error: 529 scripted error 529"},
	} {
		shapes, results := converse(t, tc.stdin)
		if got := strings.Join(shapes, "|"); got != tc.shapes || !slices.Equal(results, []string{tc.result}) {
			t.Errorf("%s:\ngot  %s %q\nwant %s", name, got, results, tc.shapes)
		}
	}
}

func TestRefusesOtherFlags(t *testing.T) {
	t.Parallel()
	whole := strings.Fields(required + " --session-id " + sid)
	for _, args := range [][]string{{}, {"-p", "--session-id", sid}, whole[1:], append(slices.Clone(whole), "--resume", sid), append(slices.Clone(whole), "--unknown"), whole[:len(whole)-1]} {
		if f, err := parseFlags(args); err == nil {
			t.Errorf("%q: %+v", args, f)
		}
	}
}
