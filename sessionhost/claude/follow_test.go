package claude

import (
	"os"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// A noted is a Record of one call and of one answer.
type noted struct{ tool, target, answer string }

func (n noted) Answer(core.TurnID) string         { return n.answer }
func (n noted) Call(string) (tool, target string) { return n.tool, n.target }

// The lines of claude 2.1.332, shortened.
const (
	lineStarted  = `{"type":"command_lifecycle","command_uuid":"u1","state":"started"}`
	lineResult   = `{"type":"result","subtype":"success","is_error":false,"result":"","user_message_uuids":["u1"]}`
	lineFeedback = `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Stop hook feedback:\n[x]: not done yet\n"}]},"isSynthetic":true}`
	lineLost     = `{"type":"system","subtype":"task_notification","task_id":"b","tool_use_id":"toolu_1","status":"stopped","output_file":"","summary":"Background shell command didn't finish before the previous session ended"}`
	lineNoWords  = `{"type":"result","subtype":"success","is_error":false,"num_turns":0,"origin":{"kind":"task-notification"}}`
)

func says(text string) string {
	return `{"type":"assistant","message":{"content":[{"type":"text","text":"` + text + `"}]}}`
}

func TestFollower(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines  []string
		record noted
		want   string
	}{
		"a hook blocks the end for good": {[]string{lineStarted, says("the answer is 42"), lineFeedback, says("still 42"), lineFeedback, says("why?"), lineResult}, noted{}, "the answer is 42"},
		"a hook blocks the end once": {[]string{lineStarted, says("the answer is 42"), lineFeedback, says("tested, too"),
			strings.Replace(lineResult, `"result":""`, `"result":"tested, too"`, 1)}, noted{}, "tested, too"},
		"the last words": {[]string{lineStarted, says("let me see"), says("done"), lineResult}, noted{}, "done"},
		"words of a subagent": {[]string{lineStarted, `{"type":"assistant","parent_tool_use_id":"toolu_1","message":{"content":[{"type":"text","text":"mine"}]}}`, lineResult},
			noted{}, ""},
		"words of an earlier turn":                    {[]string{lineStarted, says("earlier"), lineResult, lineStarted, lineResult}, noted{}, ""},
		"words of a turn that ended without a result": {[]string{lineStarted, says("lost"), `{"type":"system","subtype":"init"}`, lineNoWords}, noted{}, ""},
		"an error":            {[]string{lineStarted, says("so far"), strings.Replace(lineResult, `"is_error":false`, `"is_error":true`, 1)}, noted{}, ""},
		"/compact":            {[]string{lineStarted, `{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"manual"}}`, lineResult}, noted{}, "Compacted."},
		"compacted by itself": {[]string{lineStarted, `{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto"}}`, lineResult}, noted{}, ""},
		"/clear":              {[]string{lineStarted, `{"type":"conversation_reset","new_conversation_id":"c"}`, lineResult}, noted{}, "A new conversation has begun."},
		"a lost command": {[]string{lineLost, `{"type":"system","subtype":"init"}`, lineNoWords}, noted{tool: "Bash", target: "sleep 301"},
			"The background command `sleep 301` did not finish: its session ended."},
		"two lost tasks": {[]string{lineLost, lineLost, lineNoWords}, noted{tool: "Task", target: "look `there`\nnow"},
			"The background task `look 'there' now` did not finish: its session ended.\nThe background task `look 'there' now` did not finish: its session ended."},
		"an unknown command":     {[]string{lineLost, lineNoWords}, noted{}, "A background command did not finish: its session ended."},
		"a report without words": {[]string{strings.Replace(lineLost, "stopped", "completed", 1), lineNoWords}, noted{}, ""},
		"the begin was not seen": {[]string{lineResult}, noted{answer: "on record"}, "on record"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var f Follower
			var got core.Result
			for _, line := range c.lines {
				ev, err := Decode([]byte(line))
				check.OK(t, err)
				f.Follow(&ev)
				if tr := ev.Translate(); tr.Kind == core.Resulted {
					f.Complete(tr.Result, c.record)
					got = *tr.Result
				}
			}
			if got.Text != c.want {
				t.Errorf("the result says %q, want %q", got.Text, c.want)
			}
		})
	}
}

func TestReadCall(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/t.jsonl"
	check.OK(t, os.WriteFile(path, []byte(`{"type":"user","message":{"content":"toolu_1"}}
{"type":"assistant","message":{"content":[{"type":"text","text":"x"},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"sleep 301"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1"}]}}
{"type":"assis`), 0o600))
	for id, want := range map[string]string{"toolu_1": "Bash sleep 301", "toolu_2": " "} {
		tool, target, err := ReadCall(path, id)
		if got := tool + " " + target; got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", id, got, err, want)
		}
	}
}

// A hook that blocks the end of a turn for good leaves the first answer on record.
func TestFateOfABlockedEnd(t *testing.T) {
	t.Parallel()
	const head = `{"type":"user","uuid":"u1","message":{"content":"how many?"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"stop_reason":"end_turn","content":[{"type":"text","text":"the answer is 42"}]}}
{"type":"user","uuid":"f1","parentUuid":"a1","isMeta":true,"message":{"content":"Stop hook feedback:\n[x]: not done yet\n"}}
{"type":"assistant","uuid":"a2","parentUuid":"f1","message":{"stop_reason":"end_turn","content":[{"type":"text","text":"why?"}]}}
`
	const forGood = `{"type":"user","uuid":"f2","parentUuid":"a2","isMeta":true,"message":{"content":"Stop hook feedback:\n[x]: not done yet\n"}}
{"type":"system","subtype":"informational","uuid":"i","parentUuid":"f2","content":"A hook blocked the turn from ending 9 consecutive times—overriding and ending turn."}
`
	for transcript, want := range map[string]string{head: "why?", head + forGood: "the answer is 42"} {
		fate, err := readFate(strings.NewReader(transcript), "u1")
		if err != nil || !fate.Answered || fate.Text != want {
			t.Errorf("fate is %+v, %v, want %q", fate, err, want)
		}
	}
}

// Events that begin a turn nobody asked for.
func TestOwnTurnsAreRecognized(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]core.Event{
		`{"type":"command_lifecycle","command_uuid":"x","state":"started","wakeup_source":"schedule_wakeup"}`: {Kind: core.OwnTurn, Detail: "a schedule of Claude's own (CronCreate)"},
		`{"type":"command_lifecycle","command_uuid":"x","state":"started","wakeup_source":"loop_wakeup"}`:     {Kind: core.OwnTurn, Detail: "a reminder of Claude's own (ScheduleWakeup)"},
		`{"type":"command_lifecycle","command_uuid":"x","state":"started","wakeup_source":"?"}`:               {Kind: core.OwnTurn},
		`{"type":"command_lifecycle","command_uuid":"x","state":"started"}`:                                   {Kind: core.TurnState},
		`{"type":"system","subtype":"init"}`:                                                                  {Kind: core.OwnTurn},
		`{"type":"system","subtype":"init","user_message_uuids":["x"]}`:                                       {Kind: core.Said},
		`{"type":"system","subtype":"informational","level":"warning","content":"beware"}`:                    {Kind: core.Warned, Detail: "beware"},
		`{"type":"system","subtype":"informational","level":"info","content":"a hint"}`:                       {Kind: core.Said},
	} {
		ev, err := Decode([]byte(line))
		check.OK(t, err)
		if got := ev.Translate(); got.Kind != want.Kind || got.Detail != want.Detail {
			t.Errorf("%s is of kind %d with %q, want %d with %q", line, got.Kind, got.Detail, want.Kind, want.Detail)
		}
	}
}
