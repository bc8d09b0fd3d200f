package claude

import (
	"slices"
	"strings"
	"testing"

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
		{"no key", rawResult{IsError: true, Text: "Not logged in · Please run /login", TerminalReason: "api_error"}, core.CodeNotLoggedIn, "run `claude` once to log in; on a machine without a browser: `claude setup-token`, then set CLAUDE_CODE_OAUTH_TOKEN. Claude says: Not logged in · Please run /login"},
		{"wrong key", rawResult{IsError: true, Text: "Failed to authenticate. API Error: 401", APIErrorStatus: 401}, core.CodeNotLoggedIn, "`claude setup-token`, then set CLAUDE_CODE_OAUTH_TOKEN. Claude says: Failed to authenticate. API Error: 401"},
		{"rate limit", rawResult{IsError: true, Text: "API Error: Request rejected (429)", APIErrorStatus: 429}, CodeRateLimited, "429"},
		{"subscription limit", rawResult{IsError: true, Text: "You've hit your limit · resets 3pm", APIErrorStatus: 429}, core.CodeUsageLimit, "3pm"},
		{"weekly limit", rawResult{IsError: true, Text: "Weekly limit reached ∙ resets 10am (Asia/Seoul)", APIErrorStatus: 429}, core.CodeUsageLimit, "10am"},
		{"credit", rawResult{IsError: true, Text: "Credit balance is too low", APIErrorStatus: 400}, core.CodeUsageLimit, "Credit"},
		{"overloaded", rawResult{IsError: true, Text: "API Error: Repeated 529", APIErrorStatus: 529}, CodeOverloaded, "529"},
		{"unknown model", rawResult{IsError: true, Text: "There's an issue with the selected model (x). It may not exist", APIErrorStatus: 404}, core.CodeBadModel, "selected model"},
		{"too long", rawResult{IsError: true, Text: "Prompt is too long", TerminalReason: "blocking_limit"}, CodePromptTooLong, "too long"},
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
