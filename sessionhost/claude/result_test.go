package claude

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

func TestFailure(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		r    rawResult
		code string
		says string // contained in the sentence
	}{
		{"no error", rawResult{Text: "Not logged in, I would say"}, "", ""},
		{"interrupt", rawResult{IsError: true, Subtype: "error_during_execution", TerminalReason: "aborted_tools",
			Errors: []string{"[ede_diagnostic] result_type=user"}}, core.CodeInterrupted, "interrupted"},
		{"max turns", rawResult{IsError: true, Subtype: "error_max_turns", Errors: []string{"Reached maximum number of turns (2)"}}, CodeMaxTurns, "BARECLAW_MAX_TURNS"},
		{"budget", rawResult{IsError: true, Subtype: "error_max_budget_usd"}, core.CodeMaxBudget, "BARECLAW_MAX_BUDGET_USD"},
		{"no key", rawResult{IsError: true, Text: "Not logged in · Please run /login", TerminalReason: "api_error"}, core.CodeNotLoggedIn, "Not logged in · Please run /login"},
		{"forbidden", rawResult{IsError: true, Text: "Failed to authenticate. API Error: 403 Your organization has been disabled.", APIErrorStatus: 403}, core.CodeNotLoggedIn, "403"},
		{"forbidden in another way", rawResult{IsError: true, Text: "API Error: 403 no", APIErrorStatus: 403}, CodeAPIError, "403"},
		{"compaction", rawResult{IsError: true, Text: "Error during compaction: API Error: 400 odd"}, CodeCompactFailed, "API Error: 400 odd"},
		{"wrong key", rawResult{IsError: true, Text: "Failed to authenticate. API Error: 401", APIErrorStatus: 401}, core.CodeNotLoggedIn, "Failed to authenticate. API Error: 401"},
		{"rate limit", rawResult{IsError: true, Text: "API Error: Request rejected (429)", APIErrorStatus: 429}, CodeRateLimited, "429"},
		{"subscription limit", rawResult{IsError: true, Text: "You've hit your limit · resets 3pm", APIErrorStatus: 429}, core.CodeUsageLimit, "3pm"},
		{"weekly limit", rawResult{IsError: true, Text: "Weekly limit reached ∙ resets 10am (Asia/Seoul)", APIErrorStatus: 429}, core.CodeUsageLimit, "10am"},
		{"credit", rawResult{IsError: true, Text: "Credit balance is too low", APIErrorStatus: 400}, core.CodeUsageLimit, "Credit"},
		{"overloaded", rawResult{IsError: true, Text: "API Error: Repeated 529", APIErrorStatus: 529}, CodeOverloaded, "529"},
		{"unknown model", rawResult{IsError: true, Text: "There's an issue with the selected model (x). It may not exist", APIErrorStatus: 404}, core.CodeBadModel, "selected model"},
		{"too long", rawResult{IsError: true, Text: "Prompt is too long", TerminalReason: "blocking_limit"}, core.CodePromptTooLong, "too long"},
		{"other API error", rawResult{IsError: true, Text: "API Error: 500", APIErrorStatus: 500}, CodeAPIError, "500"},
		{"no connection", rawResult{IsError: true, Text: "API Error: Connection dropped", TerminalReason: "api_error"}, CodeAPIError, "dropped"},
		{"only diagnostics", rawResult{IsError: true, Errors: []string{"[ede_diagnostic] x", " "}}, core.CodeAgentError, "did not say"},
		{"unknown session", rawResult{IsError: true, Subtype: "error_during_execution", Errors: []string{"No conversation found with session ID: x"}}, CodeUnknownSession, "No conversation"},
	} {
		code, sentence := tc.r.failure()
		if code != tc.code || !strings.Contains(sentence, tc.says) || strings.Contains(sentence, "[ede") || (code == "") != (sentence == "") {
			t.Errorf("%s: failure() = %q, %q", tc.name, code, sentence)
		}
	}
}

// Two refusals are of one kind if they differ in numbers only, whether a message or /compact met them.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const block = "API Error: 400 messages.1.content.5: blocks cannot be modified."
	for _, tc := range []struct {
		r    rawResult
		kind string
	}{
		{rawResult{Text: block}, ""},
		{rawResult{IsError: true, Text: block, APIErrorStatus: 400}, "400 API Error:  messages..content.: blocks cannot be modified."},
		{rawResult{IsError: true, Text: "API Error: 400 messages.12.content.7: blocks cannot be modified.", APIErrorStatus: 400}, "400 API Error:  messages..content.: blocks cannot be modified."},
		{rawResult{IsError: true, Text: compactions[0] + block}, "400 API Error:  messages..content.: blocks cannot be modified."},
		{rawResult{IsError: true, Text: compactions[0] + "Prompt is too long"}, core.CodePromptTooLong},
		{rawResult{IsError: true, Text: compactions[0] + "Not enough messages to compact."}, ""},
		{rawResult{IsError: true, Text: "Compaction failed · conversation could not be reduced below the context limit"}, core.CodePromptTooLong},
		{rawResult{IsError: true, Text: "Compaction failed · attached media exceeds size limits"}, requestTooLarge},
		{rawResult{IsError: true, Text: "Prompt is too long", TerminalReason: "blocking_limit"}, core.CodePromptTooLong},
		{rawResult{IsError: true, Text: "Request too large (max 32MB).", APIErrorStatus: 413}, requestTooLarge},
		{rawResult{IsError: true, Text: "API Error: 400 odd (req_011CSHoEeqs5C35K2UUqR7Fy)", APIErrorStatus: 400}, "400 API Error:  odd ()"},
		{rawResult{IsError: true, Text: "API Error: 403 no", APIErrorStatus: 403}, ""},
		{rawResult{IsError: true, Text: "API Error: 500 oops", APIErrorStatus: 500}, ""},
		{rawResult{IsError: true, Text: "Credit balance is too low", APIErrorStatus: 400}, ""},
	} {
		if got := tc.r.refused(); got != tc.kind {
			t.Errorf("%+v is refused as %q, want %q", tc.r, got, tc.kind)
		}
	}
	for line, failed := range map[string]bool{
		`{"type":"result","is_error":false,"num_turns":0,"result":"Error during compaction: API Error: 400 odd"}`:            true,
		`{"type":"result","is_error":false,"num_turns":0,"result":"Compaction failed · attached media exceeds size limits"}`: true,
		`{"type":"result","is_error":false,"num_turns":1,"result":"Error during compaction: is what they say"}`:              false,
	} {
		e, err := Decode([]byte(line))
		check.OK(t, err)
		if r := e.Result(); r.IsError != failed || failed && (r.Code != CodeCompactFailed || r.Refused == "") {
			t.Errorf("%s: %+v", line, r)
		}
	}
}

func TestResultOddShapes(t *testing.T) {
	t.Parallel()
	e, err := Decode([]byte(`{"type":"result","is_error":"yes","result":{"x":1},"errors":"no","num_turns":2.0,"api_error_status":null,"origin":null,"user_message_uuids":[null,"u",{}],"total_cost_usd":0.25}`))
	check.OK(t, err)
	r := e.Result()
	if r.IsError || r.Text != "" || r.NumTurns != 2 || r.Background || !slices.Equal(r.Turns, []core.TurnID{"u"}) || r.TotalCost != 0.25 {
		t.Errorf("got %+v", r)
	}
}

func TestResultCost(t *testing.T) {
	t.Parallel()
	for since, want := range map[string]float64{
		`{"a":{"inputTokens":3,"costUSD":0.25},"b":{"costUSD":0.5}}`: 0.75,
		`{}`: 0, `null`: 0, `[1]`: 0, `{"a":null,"b":7,"c":{"costUSD":"1"}}`: 0,
	} {
		e, err := Decode([]byte(`{"type":"result","total_cost_usd":2,"model_usage_since_last_result":` + since + `}`))
		check.OK(t, err)
		if r := e.Result(); r.Cost != want || r.TotalCost != 2 {
			t.Errorf("%s: cost %v of %v", since, r.Cost, r.TotalCost)
		}
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		line     string
		rejected bool
		resets   int64
	}{
		{`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1771390800,"rateLimitType":"five_hour","isUsingOverage":false}}`, true, 1771390800},
		{`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1771390800000}}`, true, 1771390800},
		{`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","isUsingOverage":true}}`, false, 0},
		{`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1771390800}}`, false, 1771390800},
		{`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":"soon"}}`, true, 0},
		{`{"type":"rate_limit_event","rate_limit_info":"?"}`, false, 0},
		{`{"type":"rate_limit_event"}`, false, 0},
	} {
		e, err := Decode([]byte(tc.line))
		check.OK(t, err)
		rejected, until := e.rateLimit()
		if resets := tc.resets; rejected != tc.rejected || until.IsZero() != (resets == 0) || resets != 0 && until.Unix() != resets {
			t.Errorf("%s: %v until %s", tc.line, rejected, until)
		}
	}
}

func TestLimitEnds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 8, 14, 30, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"Claude AI usage limit reached|1791471600":                              time.Unix(1791471600, 0),
		"You've hit your limit · resets 3pm":                                    now.Add(30 * time.Minute),
		"You've hit your session limit · resets 2:20pm (UTC)":                   now.Add(-10 * time.Minute),
		"You've hit your session limit · resets 2:10pm (UTC)":                   now.Add(24*time.Hour - 20*time.Minute),
		"You've hit your session limit · resets 12am (UTC)":                     now.Add(9*time.Hour + 30*time.Minute),
		"You've hit your session limit · resets 3:20am (Asia/Calcutta)":         now.Add(7*time.Hour + 20*time.Minute),
		"You've hit your weekly limit · resets Oct 9, 10am (UTC)":               now.Add(19*time.Hour + 30*time.Minute),
		"Weekly limit reached ∙ resets Jan 2 at 2:30pm (UTC)":                   time.Date(2027, 1, 2, 14, 30, 0, 0, time.UTC),
		"You've hit your limit · resets 3pm (Nowhere/Land)":                     now.Add(30 * time.Minute),
		"You've hit your limit · resets 19pm":                                   {},
		"You've hit your limit · resets Foo 9, 3pm":                             {},
		"You've hit your limit · resets soon":                                   {},
		"Credit balance is too low":                                             {},
		"Claude AI usage limit reached|99999999999999999999 and something else": {},
	} {
		if got := (rawResult{Text: text}).limitEnds(now); !got.Equal(want) {
			t.Errorf("%q ends at %s, want %s", text, got, want)
		}
	}
	if got := (rawResult{Errors: []string{"x", "You've hit your limit · resets 3pm"}}).limitEnds(now); !got.Equal(now.Add(30 * time.Minute)) {
		t.Errorf("among errors: %s", got)
	}
}

func TestToolTimeout(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		tool, input string
		want        time.Duration
	}{
		{"Bash", `{"command":"make","timeout":600000}`, 10 * time.Minute},
		{"Bash", `{"command":"make","timeout":1.5e3}`, 1500 * time.Millisecond},
		{"Bash", `{"command":"make","timeout":9e99}`, maxToolTimeout},
		{"Bash", `{"command":"make","timeout":600000,"run_in_background":true}`, 0},
		{"Bash", `{"command":"make"}`, 0},
		{"Bash", `{"timeout":-5}`, 0},
		{"Bash", `{"timeout":"600000"}`, 0},
		{"Bash", `{"timeout":1000,"Timeout":600000,"Run_In_Background":true}`, time.Second},
		{"Bash", `[]`, 0},
		{"Read", `{"timeout":600000}`, 0},
	} {
		if got := toolTimeout(tc.tool, []byte(tc.input)); got != tc.want {
			t.Errorf("%s %s: %s, want %s", tc.tool, tc.input, got, tc.want)
		}
	}
}

func TestToolsEnded(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"x"},{"type":"text","text":"y"},{"type":"tool_result","tool_use_id":"t2"}]}}`: "t1 t2 ",
		`{"type":"user","message":{"content":"hello"}}`: "",
		`{"type":"user"}`: "",
		`{"type":"assistant","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]}}`: "",
	} {
		e, err := Decode([]byte(line))
		check.OK(t, err)
		got := ""
		for _, id := range e.ToolsEnded() {
			got += id + " "
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
