package setup

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

func TestDoctorOfClaude(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name    string
		prepare func(m *harness.Machine) (claude string)
		level   doctor.Level
		code    string
		parts   []string
	}{
		{"missing", func(*harness.Machine) string { return "no-such-claude" }, doctor.Problem, "claude_missing", []string{"no-such-claude", "npm install"}},
		{"not executable", func(m *harness.Machine) string { return m.Write("c", "#!/bin/sh\n", 0o600) }, doctor.Problem, "claude_not_executable", []string{"chmod +x"}},
		{"no program", func(m *harness.Machine) string { return m.Write("c", "root:x:0:0:\n", 0o600) }, doctor.Problem, "claude_not_executable", []string{"set BARECLAW_CLAUDE to the path of claude"}},
		{"no claude", func(m *harness.Machine) string { return m.Write("c", "#!/bin/sh\necho hello\n", 0o700) }, doctor.Problem, "claude_broken", []string{"hello"}},
		{"broken", func(m *harness.Machine) string { return m.Write("c", "#!/bin/sh\necho no >&2\nexit 3\n", 0o700) }, doctor.Problem, "claude_broken", []string{"exit status 3: no"}},
		{"old", func(m *harness.Machine) string { return scriptedClaude(m, "1.0.17", "") }, doctor.Note, "claude_old", []string{"1.0.17", "npm install"}},
		{"new", func(m *harness.Machine) string { return scriptedClaude(m, "2.1.1000", "") }, doctor.Note, "claude_new", []string{"2.1.1000"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			m.Set("BARECLAW_CLAUDE=" + row.prepare(m))
			m.Quick().Tells(row.level, row.code, row.parts...)
		})
	}
}

// TestDoctorFindsSessionsOfAnOlderClaude: claude has updated itself under a running gateway.
func TestDoctorFindsSessionsOfAnOlderClaude(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	path := m.Path("claude-link")
	check.OK(t, os.Symlink(harness.FakeClaude(t), path))
	m.Set("BARECLAW_CLAUDE=" + path)
	g := m.Start()
	g.Usable("one")
	version := g.Channel("one").Str("agent_version")
	check.OK(t, os.Remove(path))
	check.OK(t, os.Symlink(scriptedClaude(m, "2.1.1000", ""), path))
	m.Quick().Tells(doctor.Note, "sessions_old", "1 session still runs version "+version+": one.", "bareclaw start")
	if said, _, _ := m.Run("status"); !strings.Contains(said, version+" (1 session)") {
		t.Errorf("status: %s", said)
	}
	g.EndsAll()
}

func TestDoctorOfAClaudeThatHangs(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Set("BARECLAW_CLAUDE=" + m.Write("c", "#!/bin/sh\nexec sleep 1000\n", 0o700))
	m.Quick().Tells(doctor.Problem, "claude_hangs", "--version")

	m = harness.NewMachine(t, "FAKECLAUDE_START=hang", "BARECLAW_START_TIMEOUT=1s")
	m.Doctor().Tells(doctor.Problem, "claude_hangs", "BARECLAW_START_TIMEOUT")
	left, err := proc.ByEnviron("FAKECLAUDE_LOG", func(v string) bool { return v == m.Path("journal") })
	if err == nil && len(left) > 0 {
		t.Errorf("claude is left: %v", left)
	}
}

func TestDoctorIsInterrupted(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Set("BARECLAW_CLAUDE=" + scriptedClaude(m, "2.1.329", "touch "+m.Path("asked")+"; exec sleep 1000"))
	self := harness.Bareclaw(t)
	cmd := exec.Command(self, "doctor")
	cmd.Env, cmd.Dir = m.Env, m.Path("work")
	check.OK(t, cmd.Start())
	m.Eventually("claude is asked", func() bool { return len(m.Glob("asked")) == 1 })
	check.OK(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait() // its status is looked at
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("status %d, want 130", code)
	}
	m.Eventually("claude is gone", func() bool {
		left, err := proc.ByEnviron("FAKECLAUDE_LOG", func(v string) bool { return v == m.Path("journal") })
		return err != nil || len(left) == 0
	})
}

func TestDoctorHasNoClaudeAskedWhereTheEchoAgentAnswers(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_AGENT=echo")
	m.Doctor().Tells(doctor.Note, "agent_echo")
	if len(m.Journal()) > 0 {
		t.Errorf("claude was started: %v", m.Journal())
	}
}

func TestDoctorOfATurn(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, answer string
		level        doctor.Level
		code         string
		parts        []string
	}{
		{"not logged in", result(`"is_error":true,"result":"Not logged in · Please run /login"`), doctor.Problem, "not_logged_in", []string{"Please run /login", "run `claude` once"}},
		{"a login that is refused", `echo '{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":401,"error":"authentication_failed"}'; sleep 1000`, doctor.Problem, "not_logged_in", []string{"refused"}},
		{"a limit", result(`"is_error":true,"result":"You have hit your usage limit"`), doctor.Warning, "limit_reached", []string{"usage limit"}},
		{"a model", result(`"is_error":true,"api_error_status":404,"result":"There is an issue with the selected model (x)."`), doctor.Problem, "model_refused", []string{"BARECLAW_MODEL"}},
		{"an error", result(`"is_error":true,"api_error_status":500,"result":"API Error: 500"`), doctor.Problem, "turn_failed", []string{"API Error: 500"}},
		{"a result for nobody", `echo '{"type":"result","subtype":"success","result":"OK"}'`, doctor.Problem, "protocol_changed", []string{"install claude "}},
		{"the end", "echo 'that was it' >&2; exit 4", doctor.Problem, "claude_fails", []string{"exit status 4", "that was it"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			m.Set("BARECLAW_CLAUDE=" + scriptedClaude(m, "2.1.329", row.answer))
			d := m.Doctor()
			d.Tells(row.level, row.code, row.parts...)
			d.Silent("login_missing") // which the turn shows
		})
	}
}

func TestDoctorsTurnIsNotTheUsersBusiness(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "TMPDIR=/no/such/place")
	m.Doctor().Tells(doctor.Problem, "temp_unwritable", "TMPDIR")
	m.Set("TMPDIR="+m.Path("home"), "BARECLAW_MODEL=some-model", "BARECLAW_PERMISSION_MODE=plan")
	m.Set("BARECLAW_CLAUDE=" + scriptedClaude(m, "2.1.329", `printf '%s\n' "$@" > `+m.Path("args")+`; pwd > `+m.Path("dir")+`; `+result(`"is_error":false,"result":"OK"`)))
	m.Doctor().Fine("turn")
	args, err := os.ReadFile(m.Path("args"))
	check.OK(t, err)
	for _, want := range []string{"--no-session-persistence\n", "--tools\n\n", "--model\nsome-model\n", "--permission-mode\nplan\n", "--strict-mcp-config\n"} {
		if !strings.Contains(string(args), want) {
			t.Errorf("claude was started without %q: %q", want, args)
		}
	}
	dir, err := os.ReadFile(m.Path("dir"))
	if err != nil || !strings.HasPrefix(string(dir), m.Path("home/bareclaw-doctor-")) {
		t.Errorf("claude ran in %q, %v", dir, err)
	}
	if left := m.Glob("home/bareclaw-doctor-*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestDoctorOfTheLogin(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "ANTHROPIC_API_KEY=sk-secret", "CLAUDE_CODE_OAUTH_TOKEN=oat-secret")
	d := m.Quick()
	d.Tells(doctor.Note, "key_withheld", "ANTHROPIC_API_KEY", "BARECLAW_PASS_ENV=ANTHROPIC_API_KEY")
	if !strings.Contains(d.Raw, "CLAUDE_CODE_OAUTH_TOKEN") || strings.Contains(d.Raw, "-secret") {
		t.Errorf("the login: %s", d.Raw)
	}
	m.Set("BARECLAW_PASS_ENV=ANTHROPIC_API_KEY")
	m.Quick().Fine("login", "the key in ANTHROPIC_API_KEY")
	m.Set("CLAUDE_CODE_USE_BEDROCK=1")
	m.Quick().Fine("login", "Amazon Bedrock")
}
