package claude

import (
	"slices"
	"testing"
)

var fixedArgs = []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
	"--include-partial-messages", "--replay-user-messages", "--permission-prompt-tool", "stdio", "--system-prompt-snapshot", "off",
	"--disallowedTools", "CronCreate,CronDelete,CronList,ScheduleWakeup"}

// refusing is the setting without rules.
const refusing = `{"crossSessionInbound":"refuse"}`

func TestArgs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		l    Launch
		want []string
	}{
		{"first", Launch{SessionID: someUUID, MaxTurns: 25, AllowedTools: "Read,Bash(git *)"},
			[]string{"--max-turns", "25", "--allowedTools", "Read,Bash(git *)", "--settings", refusing, "--session-id", someUUID}},
		{"resume, everything", Launch{SessionID: someUUID, Resume: true, MaxTurns: 1, AllowedTools: "Read", Model: "opus", PermissionMode: "plan", AppendSystemPrompt: "You are\nhere."},
			[]string{"--max-turns", "1", "--allowedTools", "Read", "--settings", refusing, "--model", "opus", "--permission-mode", "plan", "--append-system-prompt", "You are\nhere.", "--resume", someUUID}},
		{"the user's settings alone", Launch{SessionID: someUUID, AllowedTools: "Read", SettingSources: "user", Model: "opus"},
			[]string{"--allowedTools", "Read", "--settings", refusing, "--setting-sources", "user", "--model", "opus", "--session-id", someUUID}},
		{"a budget", Launch{SessionID: someUUID, MaxBudgetUSD: 0.00005}, []string{"--max-budget-usd", "0.00005", "--settings", refusing, "--session-id", someUUID}},
		{"no tools, no limit", Launch{SessionID: someUUID}, []string{"--settings", refusing, "--session-id", someUUID}},
		{"rules", Launch{SessionID: someUUID, AllowedTools: "Read", Allow: []string{"Bash(f \\(a\\), b)", `Bash(echo "x")`}},
			[]string{"--allowedTools", "Read", "--settings", `{"crossSessionInbound":"refuse","permissions":{"allow":["Bash(f \\(a\\), b)","Bash(echo \"x\")"]}}`, "--session-id", someUUID}},
		{"values like flags", Launch{SessionID: "--continue", AllowedTools: "--dangerously-skip-permissions", Model: "-x", PermissionMode: "--", AppendSystemPrompt: "--- rules ---"},
			[]string{"--allowedTools=--dangerously-skip-permissions", "--settings", refusing, "--model=-x", "--permission-mode=--", "--append-system-prompt=--- rules ---", "--session-id=--continue"}},
	} {
		if got, want := tc.l.Args(), slices.Concat(fixedArgs, tc.want); !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", tc.name, got, want)
		}
	}
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	parent := []string{"PATH=/bin", "EMPTY=", "NOEQUALS", "=odd", "HOME=/old", "HOME=/new", "A=b=c",
		"BARECLAW_HTTP_TOKEN=s", "BARECLAW_PORT=1", "ANTHROPIC_API_KEY=k", "CLAUDE_API_KEY=k", "ANTHROPIC_AUTH_TOKEN=k", "ANTHROPIC_BASE_URL=u", "ANTHROPIC_MODEL=m",
		"CLAUDECODE=1", "CLAUDE_PID=1", "CLAUDE_EFFORT=high", "AI_AGENT=x", "CLAUDE_CONFIG_DIR=/c",
		"CLAUDE_CODE_OAUTH_TOKEN=t", "CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CODE_SKIP_VERTEX_AUTH=1", "CLAUDE_CODE_MAX_RETRIES=2",
		"CLAUDE_CODE_SESSION_ID=x", "CLAUDE_CODE_MESSAGING_TOKEN=x", "CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1", "CLAUDE_CODE_SIMPLE=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=0",
		"NOTIFY_SOCKET=/n", "LISTEN_FDS=3", "LISTEN_PID=1", "WATCHDOG_USEC=1", "MAINPID=1", "INVOCATION_ID=i", "JOURNAL_STREAM=8:9", "SYSTEMD_EXEC_PID=1"}
	got := Environ(parent, []string{"ANTHROPIC_API_KEY", "BARECLAW_PORT", "ABSENT"})
	want := []string{"PATH=/bin", "EMPTY=", "HOME=/new", "A=b=c", "BARECLAW_PORT=1", "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=u", "ANTHROPIC_MODEL=m",
		"CLAUDE_CONFIG_DIR=/c", "CLAUDE_CODE_OAUTH_TOKEN=t", "CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CODE_SKIP_VERTEX_AUTH=1", "CLAUDE_CODE_MAX_RETRIES=2",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_DISABLE_CRON=1", "CLAUDE_CODE_MCP_STARTUP_WAIT_MS=5000"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := Environ([]string{"CLAUDE_CODE_MCP_STARTUP_WAIT_MS=9"}, nil); !slices.Contains(got, "CLAUDE_CODE_MCP_STARTUP_WAIT_MS=9") || len(got) != 3 {
		t.Errorf("the user's own wait was not kept: %q", got)
	}
}

// TestFileMentionsAreOff holds that the files a text mentions are attached only on request.
func TestFileMentionsAreOff(t *testing.T) {
	t.Parallel()
	if got := (Launch{}).Environ(); !slices.Equal(got, []string{"CLAUDE_CODE_DISABLE_FILE_MENTIONS=1"}) {
		t.Errorf("without file mentions: %q", got)
	}
	if got := (Launch{FileMentions: true}).Environ(); len(got) != 0 {
		t.Errorf("with file mentions: %q", got)
	}
}
