package claude

import (
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
)

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
