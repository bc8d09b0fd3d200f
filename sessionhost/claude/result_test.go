package claude

import (
	"strings"
	"testing"
)

func TestFailure(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		r    Result
		code string
		says string // contained in the sentence
	}{
		{"no error", Result{Text: "Not logged in, I would say"}, "", ""},
		{"interrupt", Result{IsError: true, Subtype: "error_during_execution", TerminalReason: "aborted_tools",
			Errors: []string{"[ede_diagnostic] result_type=user"}}, CodeInterrupted, "interrupted"},
		{"max turns", Result{IsError: true, Subtype: "error_max_turns", Errors: []string{"Reached maximum number of turns (2)"}}, CodeMaxTurns, "BARECLAW_MAX_TURNS"},
		{"budget", Result{IsError: true, Subtype: "error_max_budget_usd"}, CodeMaxBudget, "BARECLAW_MAX_BUDGET_USD"},
		{"no key", Result{IsError: true, Text: "Not logged in · Please run /login", TerminalReason: "api_error"}, CodeNotLoggedIn, "run `claude` once to log in; on a machine without a browser: `claude setup-token`, then set CLAUDE_CODE_OAUTH_TOKEN. Claude says: Not logged in · Please run /login"},
		{"wrong key", Result{IsError: true, Text: "Failed to authenticate. API Error: 401", APIErrorStatus: 401}, CodeNotLoggedIn, "`claude setup-token`, then set CLAUDE_CODE_OAUTH_TOKEN. Claude says: Failed to authenticate. API Error: 401"},
		{"rate limit", Result{IsError: true, Text: "API Error: Request rejected (429)", APIErrorStatus: 429}, CodeRateLimited, "429"},
		{"subscription limit", Result{IsError: true, Text: "You've hit your limit · resets 3pm", APIErrorStatus: 429}, CodeUsageLimit, "3pm"},
		{"weekly limit", Result{IsError: true, Text: "Weekly limit reached ∙ resets 10am (Asia/Seoul)", APIErrorStatus: 429}, CodeUsageLimit, "10am"},
		{"credit", Result{IsError: true, Text: "Credit balance is too low", APIErrorStatus: 400}, CodeUsageLimit, "Credit"},
		{"overloaded", Result{IsError: true, Text: "API Error: Repeated 529", APIErrorStatus: 529}, CodeOverloaded, "529"},
		{"unknown model", Result{IsError: true, Text: "There's an issue with the selected model (x). It may not exist", APIErrorStatus: 404}, CodeBadModel, "selected model"},
		{"too long", Result{IsError: true, Text: "Prompt is too long", TerminalReason: "blocking_limit"}, CodePromptTooLong, "too long"},
		{"other API error", Result{IsError: true, Text: "API Error: 500", APIErrorStatus: 500}, CodeAPIError, "500"},
		{"no connection", Result{IsError: true, Text: "API Error: Connection dropped", TerminalReason: "api_error"}, CodeAPIError, "dropped"},
		{"only diagnostics", Result{IsError: true, Errors: []string{"[ede_diagnostic] x", " "}}, CodeAgentError, "did not say"},
		{"unknown session", Result{IsError: true, Subtype: "error_during_execution", Errors: []string{"No conversation found with session ID: x"}}, CodeUnknownSession, "No conversation"},
	} {
		code, sentence := tc.r.Failure()
		if code != tc.code || !strings.Contains(sentence, tc.says) || strings.Contains(sentence, "[ede") || (code == "") != (sentence == "") {
			t.Errorf("%s: Failure() = %q, %q", tc.name, code, sentence)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	r := Result{UserMessageUUIDs: []string{"a", "b"}}
	if !r.Answers("b") || r.Answers("c") || r.Answers("") {
		t.Error("Answers is wrong")
	}
}

func TestResultOddShapes(t *testing.T) {
	t.Parallel()
	e, err := Decode([]byte(`{"type":"result","is_error":"yes","result":{"x":1},"errors":"no","num_turns":2.0,"duration_ms":1e3,"api_error_status":null,"origin":null,"permission_denials":{"tool_name":"x"},"user_message_uuids":[null,"u",{}],"total_cost_usd":0.25}`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Result()
	if err != nil {
		t.Fatal(err)
	}
	if r.IsError || r.Text != "" || r.Errors != nil || r.NumTurns != 2 || r.DurationMS != 1000 || r.APIErrorStatus != 0 ||
		r.OriginKind != "" || len(r.PermissionDenials) != 0 || !r.Answers("u") || len(r.UserMessageUUIDs) != 1 || r.TotalCostUSD != 0.25 {
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
		if err != nil {
			t.Fatal(err)
		}
		if r, err := e.Result(); err != nil || r.CostUSD != want || r.TotalCostUSD != 2 {
			t.Errorf("%s: cost %v of %v, %v", since, r.CostUSD, r.TotalCostUSD, err)
		}
	}
}
