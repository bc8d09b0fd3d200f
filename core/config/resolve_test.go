package config

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/toolset"
)

// resolved resolves vars and fails the test if anything is wrong with them.
func resolved(t *testing.T, m machine, vars map[string]string) Config {
	t.Helper()
	c, p := resolve(vars, m)
	if err := p.err(); err != nil {
		t.Fatalf("resolve(%v): %v", vars, err)
	}
	return c
}

// TestEveryVariableIsUsed sets each variable to something that is no default.
func TestEveryVariableIsUsed(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	project := filepath.Join(m.home, "project")
	check.OK(t, os.Mkdir(project, 0o700))
	rows := []struct {
		name, text string
		want       any
	}{
		{"BARECLAW_HOST", "0.0.0.0", "0.0.0.0"},
		{"BARECLAW_PORT", " 0 ", 0},
		{"BARECLAW_ALLOWED_HOSTS", "Claw.example.org., [::1]", []string{"claw.example.org", "::1"}},
		{"BARECLAW_HTTP_TOKEN", "sesame", HTTPToken{NewSecret("sesame")}},
		{"BARECLAW_BODY_LIMIT", "10MB", 10_000_000},
		{"BARECLAW_CWD", "~/project", project},
		{"BARECLAW_SESSION_FILE", "ids.json", project + "/ids.json"},
		{"BARECLAW_STATE_DIR", "state", m.cwd + "/state"},
		{"BARECLAW_RUNTIME_DIR", "/run/claw/", "/run/claw"},
		{"BARECLAW_SOURCE", "~/project", project},
		{"BARECLAW_AGENT", "claude", AgentClaude},
		{"BARECLAW_CLAUDE", "./bin/claude", m.cwd + "/bin/claude"},
		{"BARECLAW_MODEL", "opus[1m]", "opus[1m]"},
		{"BARECLAW_PERMISSION_MODE", "plan", "plan"},
		{"BARECLAW_ALLOWED_TOOLS", "Bash(cut -d, -f1), mcp__a__*", []string{"Bash(cut -d, -f1)", "mcp__a__*"}},
		{"BARECLAW_TOOLS", "channel_list, a.b-c", toolset.Set("channel_list,a.b-c")},
		{"BARECLAW_TOOLS_DIR", "~/hands", m.home + "/hands"},
		{"BARECLAW_TOOL_GRANTS", "network:API.example.com, network:*.example.org,filesystem:~/a/../b:ro,filesystem:/srv", []ToolGrant{
			{Host: "api.example.com"}, {Host: "*.example.org"}, {Dir: m.home + "/b", ReadOnly: true}, {Dir: "/srv"},
		}},
		{"BARECLAW_SNAPSHOTS_KEEP", "3", 3},
		{"BARECLAW_TOOLHOST_ADDR", "localhost:3001", "localhost:3001"},
		{"BARECLAW_FILE_MENTIONS", "on", "on"},
		{"BARECLAW_MAX_TURNS", "1", 1},
		{"BARECLAW_MAX_BUDGET_USD", "0.50", 0.5},
		{"BARECLAW_SETTING_SOURCES", "user", "user"},
		{"BARECLAW_DAILY_BUDGET_USD", "20", 20},
		{"BARECLAW_PASS_ENV", "ANTHROPIC_API_KEY,X", []string{"ANTHROPIC_API_KEY", "X"}},
		{"BARECLAW_TIMEOUT_MS", "1500", 1500 * time.Millisecond},
		{"BARECLAW_START_TIMEOUT", "2s", 2 * time.Second},
		{"BARECLAW_STALL_AFTER", "0", 0},
		{"BARECLAW_STALL_ACTION", "interrupt", "interrupt"},
		{"BARECLAW_IDLE_TIMEOUT", "90s", 90 * time.Second},
		{"BARECLAW_MAX_SESSIONS", "5", 5},
		{"DOCTOR_IGOR_IDLE_TIMEOUT", "90000", 90 * time.Second},
		{"BARECLAW_WARM_SPARES", "64", 64},
		{"BARECLAW_QUEUE_LIMIT", "7", 7},
		{"BARECLAW_APPROVALS", "ask", "ask"},
		{"BARECLAW_APPROVAL_TIMEOUT", "1h30m", 90 * time.Minute},
		{"BARECLAW_TELEGRAM_TOKEN", "123456:ABC-DEF_1", BotToken{NewSecret("123456:ABC-DEF_1")}},
		{"BARECLAW_ALLOWED_USERS", "1, 9007199254740993", []int64{1, 9007199254740993}},
		{"BARECLAW_TELEGRAM_API", "http://localhost:8081/", "http://localhost:8081"},
		{"BARECLAW_TELEGRAM_FILE_OVER", "3", 3},
		{"BARECLAW_MEDIA_MAX_AGE", "7d", 7 * 24 * time.Hour},
		{"BARECLAW_TRANSCRIBE", "whisper -f \"$(cat)\"", "whisper -f \"$(cat)\""},
		{"BARECLAW_SEND_ROOTS", "~/project, ~", []string{project, m.home}},
		{"BARECLAW_HEARTBEAT", "on", HeartbeatOn},
		{"BARECLAW_HEARTBEAT_INTERVAL", "30m", 30 * time.Minute},
		{"BARECLAW_HEARTBEAT_MESSAGE", "@~/beat.md", "@" + m.home + "/beat.md"},
		{"BARECLAW_HEARTBEAT_PRECHECK", "test -s inbox", "test -s inbox"},
		{"BARECLAW_HEARTBEAT_NOTIFY", "tg-1", "tg-1"},
		{"BARECLAW_OBSERVE_NOTIFY", "tg-1", "tg-1"},
		{"BARECLAW_TZ", "Europe/Berlin", "Europe/Berlin"},
		{"BARECLAW_LOG_FILE", "log/claw.log", m.cwd + "/log/claw.log"},
		{"BARECLAW_LOG_LEVEL", "debug", slog.LevelDebug},
		{"BARECLAW_LOG_FORMAT", "json", LogJSON},
	}
	vars := map[string]string{}
	for _, row := range rows {
		vars[row.name] = row.text
	}
	got := resolved(t, m, vars)
	for _, row := range rows {
		s := settingOf(row.name)
		value, want := s.of(&got), reflect.ValueOf(row.want).Convert(s.field.Type)
		if !reflect.DeepEqual(value.Interface(), want.Interface()) {
			t.Errorf("%s=%s is %#v, want %#v", row.name, row.text, value, want)
		}
	}
	if len(vars) != len(settings()) || got.UserDir != m.home+"/.local/state/bareclaw" || got.ConfigDir != m.configDir {
		t.Errorf("%d of %d variables are set; directories %s and %s", len(vars), len(settings()), got.UserDir, got.ConfigDir)
	}
}

func TestBadValues(t *testing.T) {
	t.Parallel()
	rows := map[string][]string{
		"BARECLAW_HOST":               {"0.0.0.0", "::", "example.org", "127.1", "127.0.0.1:3000", "localhost:3000", "[::1]:80", "a b", "-a", "a..b", strings.Repeat("a", 64)},
		"BARECLAW_PORT":               {"-1", "65536", "3000x", "0x10", "3.5", "99999999999999999999", "http"},
		"BARECLAW_ALLOWED_HOSTS":      {"a,,b", "a,", "http://a", "*.example.org", "a:80"},
		"BARECLAW_BODY_LIMIT":         {"0", "1023", "-1MB", "65MiB", "1GiB", "1.5.5MiB", "MiB", "10XB", "9999999999999999999GB", "1 2"},
		"BARECLAW_CWD":                {"/nonexistent", "~nobody/x", "/dev/null"},
		"BARECLAW_SETTING_SOURCES":    {"project", "user,project", "USER", "-user"},
		"BARECLAW_SESSION_FILE":       {"~nobody", "a\x00b"},
		"BARECLAW_STATE_DIR":          {"~x"},
		"BARECLAW_RUNTIME_DIR":        {"~x", "/" + strings.Repeat("d", 73)},
		"BARECLAW_SOURCE":             {"/nonexistent", "on"},
		"BARECLAW_AGENT":              {"Claude", "gpt"},
		"BARECLAW_CLAUDE":             {"a\nb", "~x/claude"},
		"BARECLAW_MODEL":              {"--help", "a b", "a\x01"},
		"BARECLAW_PERMISSION_MODE":    {"yolo"},
		"BARECLAW_ALLOWED_TOOLS":      {",", "Read,,Bash", "--dangerously-skip-permissions", "Read,-p", "Ba\x1bsh", "Bash(ls", "Bash)", "\xff"},
		"BARECLAW_TOOLS":              {"a,,b", "two words", "mcp__bareclaw__*", "all,a", "a,none", strings.Repeat("x", 114)},
		"BARECLAW_TOOLS_DIR":          {"~x"},
		"BARECLAW_TOOL_GRANTS":        {"api.example.com", "network:", "network:http://a", "network:a/b", "network:a:443", "filesystem:relative", "filesystem:", "ai:on", "network:a,,network:b"},
		"BARECLAW_SNAPSHOTS_KEEP":     {"0", "many"},
		"BARECLAW_TOOLHOST_ADDR":      {"3001", ":3001", "0.0.0.0:3001", "example.com:80", "127.0.0.1:0", "127.0.0.1:x"},
		"BARECLAW_FILE_MENTIONS":      {"yes", "On", "1", "true"},
		"BARECLAW_MAX_TURNS":          {"0", "-1", "many", "1000001"},
		"BARECLAW_MAX_BUDGET_USD":     {"-1", "NaN", "inf", "1e9", "1000000.01", "$5", "0x10", "1_000", "5,00", ".", "1.2.3"},
		"BARECLAW_DAILY_BUDGET_USD":   {"-0.5", "nan", "+Inf", "1e9", "999999999999"},
		"BARECLAW_PASS_ENV":           {"A=b", "1A", "A,,B", "BARECLAW_HTTP_TOKEN", "A B"},
		"BARECLAW_TIMEOUT_MS":         {"-1", "10s", "9223372036855"},
		"BARECLAW_START_TIMEOUT":      {"0", "0s", "-1s", "60", "soon"},
		"BARECLAW_STALL_AFTER":        {"-1s", "60", "soon"},
		"BARECLAW_STALL_ACTION":       {"restart", "Kill"},
		"BARECLAW_IDLE_TIMEOUT":       {"-1s", "30"},
		"BARECLAW_MAX_SESSIONS":       {"-1", "many", "1000001"},
		"BARECLAW_WARM_SPARES":        {"-1", "one", "65"},
		"BARECLAW_QUEUE_LIMIT":        {"0", "1e3"},
		"BARECLAW_APPROVALS":          {"yes", "ASK"},
		"BARECLAW_APPROVAL_TIMEOUT":   {"0", "10"},
		"BARECLAW_TELEGRAM_API":       {"localhost:8081", "ftp://a", "http://", "http://a?b", "http://u:p@a"},
		"BARECLAW_TELEGRAM_FILE_OVER": {"0", "1001", "x"},
		"BARECLAW_MEDIA_MAX_AGE":      {"30", "-1d", "d", "1.5d", "-1h", "999999999d"},
		"BARECLAW_TRANSCRIBE":         {"a\nb"},
		"BARECLAW_SEND_ROOTS":         {"/nonexistent", "~,,~"},
		"BARECLAW_ALLOWED_USERS":      {"12abc", "1;2", "0", "-5", "@me", "1,,2", "9223372036854775808"},
		"BARECLAW_LOG_LEVEL":          {"verbose", "INFO"},
		"BARECLAW_LOG_FORMAT":         {"xml"},
	}
	m := testMachine(t)
	for name, values := range rows {
		for _, value := range values {
			_, p := resolve(map[string]string{name: value}, m)
			if len(p) != 1 {
				t.Errorf("%s=%q: %d problems (%v), want 1", name, value, len(p), p.err())
				continue
			}
			problem, ok := errors.AsType[*Problem](p.err())
			if !ok || problem.Source != name || problem.Problem == "" || problem.Accepted == "" {
				t.Errorf("%s=%q: %#v, want a problem of that variable and what is accepted", name, value, problem)
			}
			if text := p.err().Error(); strings.ContainsAny(text, "\n\x00\x01\x1b") {
				t.Errorf("%s=%q: error is not one plain line: %q", name, value, text)
			}
		}
	}
}

func TestAllProblemsAtOnceWithoutSecrets(t *testing.T) {
	t.Parallel()
	_, p := resolve(map[string]string{
		"BARECLAW_PORT":           "99999",
		"BARECLAW_MAX_TURNS":      "none",
		"BARECLAW_HTTP_TOKEN":     "open sesame",
		"BARECLAW_TELEGRAM_TOKEN": "sesame!",
		"BARECLAW_CWD":            "/nonexistent",
	}, testMachine(t))
	text := p.err().Error()
	lines := strings.Split(text, "\n")
	for _, name := range []string{"BARECLAW_PORT", "BARECLAW_HTTP_TOKEN", "BARECLAW_CWD", "BARECLAW_MAX_TURNS", "BARECLAW_TELEGRAM_TOKEN", "BARECLAW_ALLOWED_USERS"} {
		if n := strings.Count(text, "\n"+name+": ") + strings.Count(text[:len(name)+2], name+": "); n != 1 {
			t.Errorf("%s is reported %d times, want once, in:\n%s", name, n, text)
		}
	}
	if len(lines) != 6 {
		t.Errorf("%d lines, want 6:\n%s", len(lines), text)
	}
	if strings.Contains(text, "sesame") {
		t.Errorf("a secret is in the error:\n%s", text)
	}
	if want := `BARECLAW_PORT: "99999" is out of range; accepted: 0 to 65535, where 0 picks a free port`; lines[0] != want {
		t.Errorf("first line = %q, want %q", lines[0], want)
	}
}

func TestOpenAddressNeedsToken(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	for _, host := range []string{"localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1", "[::1]", "::ffff:127.0.0.1"} {
		resolved(t, m, map[string]string{"BARECLAW_HOST": host})
	}
	for _, host := range []string{"0.0.0.0", "::", "192.168.1.2", "box.lan", "localhost.example.org"} {
		resolved(t, m, map[string]string{"BARECLAW_HOST": host, "BARECLAW_HTTP_TOKEN": "sesame"})
	}
}

func TestOtherNamesNeedToken(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	hosts := map[string]string{"BARECLAW_ALLOWED_HOSTS": "chat.example.org"}
	if _, problems := resolve(hosts, m); len(problems) != 1 || !strings.Contains(fmt.Sprint(problems), "BARECLAW_HTTP_TOKEN") {
		t.Errorf("without a token: %v", problems)
	}
	hosts["BARECLAW_HTTP_TOKEN"] = "sesame"
	resolved(t, m, hosts)
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	rows := []struct {
		host, token string
		want        int
	}{
		{"127.0.0.1", "short", 0},
		{"0.0.0.0", "short", 1},
		{"0.0.0.0", "0123456789abcdef", 0},
	}
	for _, row := range rows {
		c := resolved(t, m, map[string]string{"BARECLAW_HOST": row.host, "BARECLAW_HTTP_TOKEN": row.token})
		if got := c.Warnings(); len(got) != row.want {
			t.Errorf("host %s, token of %d: warnings %q, want %d", row.host, len(row.token), got, row.want)
		}
	}
	c := Config{Unknown: []string{"BARECLAW_PROT is set, but there is no such variable; did you mean BARECLAW_PORT?"}}
	if got := c.Warnings(); len(got) != 1 || !strings.Contains(got[0], "did you mean BARECLAW_PORT?") {
		t.Errorf("warnings = %q", got)
	}
}

func TestRuntimeDir(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	mine := t.TempDir()
	rows := []struct {
		runtime string
		uid     int
		want    string
	}{
		{mine, m.uid, mine + "/bareclaw"},
		{mine, m.uid + 1, m.home + "/.local/state/bareclaw/run"},         // inherited by su
		{mine + "/gone", m.uid, m.home + "/.local/state/bareclaw/run"},   // after a logout
		{"relative", m.uid, m.home + "/.local/state/bareclaw/run"},       // to be ignored by the specification
		{os.DevNull, os.Getuid(), m.home + "/.local/state/bareclaw/run"}, // not a directory
		{"", m.uid, m.home + "/.local/state/bareclaw/run"},               // cron
	}
	for _, row := range rows {
		m.runtime, m.uid = row.runtime, row.uid
		if got := resolved(t, m, nil).RuntimeDir(); got != row.want {
			t.Errorf("runtime %q of uid %d: %s, want %s", row.runtime, row.uid, got, row.want)
		}
	}
}

func TestStateDir(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	m.stateHome = "/var/state"
	if got := resolved(t, m, nil).StateDir(); got != "/var/state/bareclaw" {
		t.Errorf("state dir = %s", got)
	}
	m.stateHome = "relative"
	if got, want := resolved(t, m, nil).StateDir(), m.home+"/.local/state/bareclaw"; got != want {
		t.Errorf("state dir with a relative XDG_STATE_HOME = %s, want %s", got, want)
	}
}

// TestNoHome is a system service without HOME: it must name its directories.
func TestNoHome(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	m.home = ""
	_, p := resolve(nil, m)
	if text := p.err().Error(); len(p) != 2 || !strings.Contains(text, "BARECLAW_CWD: ~ stands for $HOME") || !strings.Contains(text, "BARECLAW_STATE_DIR: ~") {
		t.Errorf("problems = %v", p.err())
	}
	resolved(t, m, map[string]string{"BARECLAW_CWD": m.cwd, "BARECLAW_STATE_DIR": "/s"})
}
