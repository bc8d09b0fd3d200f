package setup

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/buildinfo"
	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"
)

func TestDoctorOfAHealthyGatewayFindsNothingAndLeavesNothing(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	check.OK(t, os.Mkdir(m.Path("home/.claude"), 0o700))
	m.Write("home/.claude/.credentials.json", "SECRET-LOGIN", 0o600)
	g := m.Start()
	g.Say("http", "hello").Want(t, "ok: hello")
	g.Balanced()
	g.Eventually("the gateway has written all", func() bool {
		tools, _ := os.ReadFile(m.Path("run/tools.json")) // written again when the tool host is ready
		return strings.Contains(m.Log.String(), "heartbeat not installed") && strings.Contains(string(tools), "hello_world")
	})
	before := tree(t, m.Path("state")) + tree(t, m.Path("run")) + tree(t, m.Path("work"))
	d := m.Doctor()
	if !d.Healthy || d.Version != buildinfo.Version() {
		t.Errorf("diagnosis: %s", d.Raw)
	}
	for _, check := range []string{"configuration", "claude", "turn", "directories", "clock", "address", "gateway", "sessions", "ledger", "exposure"} {
		d.Fine(check)
	}
	d.Fine("login", "the login kept in "+m.Path("home/.claude/.credentials.json"))
	d.Fine("gateway", fmt.Sprintf("pid %d", m.LockFile().PID), "its socket and at 127.0.0.1")
	d.Fine("ledger", "1 message accepted, 0 open")
	d.Fine("sessions", "Session hosts alive: 1")
	if !d.Says("tools", "The tools directory "+m.Path("state/tools")+" can be read and written.") {
		t.Errorf("of the tools: %s", d.Raw)
	}
	if after := tree(t, m.Path("state")) + tree(t, m.Path("run")) + tree(t, m.Path("work")); after != before {
		t.Errorf("doctor has changed something:\n%s\nwas\n%s", after, before)
	}
	g.Say("http", "still there").Want(t, "ok: still there")
}

func TestDoctorOnANewMachine(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "XDG_RUNTIME_DIR=/nowhere", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere/bus")
	m.Set("BARECLAW_STATE_DIR="+m.Path("home/state"), "BARECLAW_RUNTIME_DIR="+m.Path("home/run"))
	d := m.Doctor()
	if !d.Healthy {
		t.Errorf("what is new is not a problem: %s", d.Raw)
	}
	d.Tells(doctor.Note, "state_missing", m.Path("home/state"))
	d.Tells(doctor.Warning, "gateway_down", "bareclaw start")
	if strings.Contains(d.Raw, "service install") {
		t.Errorf("a service is advised where there is nothing that runs one: %s", d.Raw)
	}
	d.Silent("login_missing") // whatever looking for one shows
	d.Fine("turn", "claude answered in")
	d.Fine("ledger", "no ledger yet")
	if left := m.Glob("home/*"); len(left) > 0 {
		t.Errorf("doctor has made %v", left)
	}
	m.Quick().Tells(doctor.Warning, "login_missing")
}

func TestDoctorTellsEverythingThatIsWrongWithTheSettings(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_PORT=x", "BARECLAW_MAX_TURNS=-1", "BARECLAW_PROT=1")
	m.Write("work/.env", "BARECLAW_HTTP_TOKEN=hush-hush-hush-hush\nBARECLAW_QUEUE_LIMIT=none\n", 0o644)
	unread := m.Quick()
	unread.Tells(doctor.Note, "env_unread", m.Path("work/.env")+" is not read", "bareclaw serve")
	unread.Silent("env_readable")
	m.Remembers()
	d := m.Quick()
	d.Silent("env_unread")
	var wrong []string
	for _, f := range d.Findings {
		if f.Code == "setting_wrong" {
			wrong = append(wrong, f.What)
		}
	}
	if got := strings.Join(wrong, "\n"); len(wrong) != 3 || !strings.Contains(got, "BARECLAW_PORT") || !strings.Contains(got, "BARECLAW_MAX_TURNS") ||
		!strings.Contains(got, "BARECLAW_QUEUE_LIMIT") {
		t.Errorf("wrong settings: %q", wrong)
	}
	d.Tells(doctor.Problem, "setting_wrong", "set BARECLAW_")
	d.Tells(doctor.Warning, "setting_odd", "did you mean BARECLAW_PORT?\n") // and no full stop after it
	d.Tells(doctor.Problem, "env_readable", m.Path("work/.env"), "BARECLAW_HTTP_TOKEN", "chmod 600")
	d.Fine("claude") // and so the other checks went on
	d.Fine("exposure", "with the token only")
	if strings.Contains(d.Raw, "hush") {
		t.Error("a secret is shown")
	}
	m.Write("work/.env", "a line that is none\n", 0o600)
	m.Quick().Tells(doctor.Problem, "setting_wrong")
}

// TestDoctorOfATokenApart has the token in the user's file, and the gateway's state in another.
func TestDoctorOfATokenApart(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Env = slices.DeleteFunc(m.Env, func(v string) bool { return strings.HasPrefix(v, "BARECLAW_STATE_DIR=") })
	m.Write(harness.EnvFile, "BARECLAW_HTTP_TOKEN=hush-hush-hush-hush\n", 0o600)
	m.Write("work/.env", "BARECLAW_STATE_DIR="+m.Path("state")+"\n", 0o600)
	m.Start()
	if d := m.Quick(); strings.Contains(d.Raw, "hush") {
		t.Error("a secret is shown")
	} else {
		d.Tells(doctor.Problem, "token_apart", m.Path("work/.env"), m.Path(harness.EnvFile), "one file")
	}
}

func TestDoctorMendsWhatItCan(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	env := m.Write("work/.env", "BARECLAW_HTTP_TOKEN=hush-hush-hush-hush\n", 0o644)
	m.Start().Kill()
	ledger := m.Path("state/ledger.db")
	for path, mode := range map[string]os.FileMode{m.Path("state"): 0o755, m.Path("run"): 0o711, ledger: 0o640} {
		check.OK(t, os.Chmod(path, mode))
	}
	before := m.Quick()
	codes := []string{"env_readable", "state_open", "runtime_open", "ledger_open"}
	for _, code := range codes {
		if f := before.Tells(doctor.Problem, code, "chmod"); !f.Fixable || f.Fixed {
			t.Errorf("%s: fixable %v, fixed %v", code, f.Fixable, f.Fixed)
		}
	}
	before.Tells(doctor.Problem, "gateway_died", "without being told to")

	mending := m.Quick("--fix")
	for _, code := range codes {
		if f := mending.Find(code); f == nil || !f.Fixed || f.Failed != "" {
			t.Errorf("%s was not mended: %+v", code, f)
		}
	}
	after := m.Quick()
	after.Silent(codes...)
	after.Fine("directories")
	for path, want := range map[string]os.FileMode{m.Path("state"): 0o700, m.Path("run"): 0o700, ledger: 0o600, env: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want mode %o", path, info.Mode(), err, want)
		}
	}
}

func TestDoctorOfDirectoriesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_RUNTIME_DIR=/tmp/"+strings.Repeat("long/", 20))
	m.Quick().Tells(doctor.Problem, "setting_wrong", "BARECLAW_RUNTIME_DIR", "at most 73 bytes")
	m.Write("file", "", 0o600)
	m.Set("BARECLAW_STATE_DIR="+m.Path("file"), "BARECLAW_RUNTIME_DIR="+m.Path("run"))
	m.Quick().Tells(doctor.Problem, "directory_unusable", "is not a directory")

	check.OK(t, os.Symlink(m.Path("run"), m.Path("link")))
	m.Set("BARECLAW_STATE_DIR="+m.Path("state"), "BARECLAW_RUNTIME_DIR="+m.Path("link"))
	m.Quick().Tells(doctor.Problem, "directory_unusable", m.Path("link")+" is not a directory")
	m.Set("BARECLAW_STATE_DIR="+m.Path("state"), "BARECLAW_RUNTIME_DIR="+m.Path("gone"))
	claimState(m, "127.0.0.1:1")
	m.Quick().Tells(doctor.Problem, "runtime_missing", m.Path("gone"))
}

func TestDoctorOfWhatBelongsToAnotherUser(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	env := m.Write("work/.env", "# nothing\n", 0o600)
	m.Remembers()
	for _, path := range []string{env, m.Path("state")} {
		if err := os.Chown(path, os.Getuid()+4711, -1); err != nil {
			roottest.Unavailable(t, "files of another user: giving them away takes root: %v", err)
		}
	}
	d := m.Quick()
	d.Tells(doctor.Problem, "env_owner", env, "chown", "as root")
	d.Tells(doctor.Problem, "directory_owner", m.Path("state"), "chown -R")
}

func TestDoctorOfTheClock(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Start().Signal(syscall.SIGTERM)
	later := time.Now().Add(24 * time.Hour)
	check.OK(t, os.Chtimes(m.Path("state/ledger.db"), later, later))
	m.Quick().Tells(doctor.Problem, "clock_behind", m.Path("state/ledger.db"))
}

func TestDoctorOfTools(t *testing.T) {
	t.Parallel()
	port := harness.TakenPort(t)
	m := harness.NewMachine(t, "BARECLAW_TOOLHOST_ADDR=127.0.0.1:"+port, "BARECLAW_TOOL_GRANTS=filesystem:/nowhere/at/all")
	d := m.Quick()
	d.Tells(doctor.Problem, "toolhost_port_taken", port, "BARECLAW_TOOLHOST_ADDR")
	d.Tells(doctor.Warning, "grant_unusable", "/nowhere/at/all")
	m.Set("BARECLAW_TOOLHOST_ADDR=127.0.0.1:"+harness.FreePort(t), "BARECLAW_TOOL_GRANTS=filesystem:"+m.Path("home"))
	g := m.Start()
	g.Eventually("the tool host runs", func() bool { return m.Quick().Says("tools", "The tool host (pid ") })
	d = m.Quick()
	d.Silent("toolhost_port_taken", "toolhost_silent", "grant_unusable", "grant_withheld", "tools_open")
	check.OK(t, os.Symlink(m.Path("state"), m.Path("link")))
	for _, dir := range []string{m.Path("state"), m.Path("state/tools"), m.Path("link")} {
		m.Set("BARECLAW_TOOL_GRANTS=filesystem:" + dir)
		m.Quick().Tells(doctor.Warning, "grant_withheld", dir, "gateway's own")
	}
	m.Set("BARECLAW_TOOLHOST_ADDR=127.0.0.1:" + harness.FreePort(t))
	check.OK(t, os.Chmod(m.Path("state/tools"), 0o777))
	d = m.Quick("--fix")
	d.Tells(doctor.Warning, "toolhost_silent", "bareclaw restart")
	if f := d.Tells(doctor.Warning, "tools_open", "chmod go-w"); !f.Fixed {
		t.Errorf("not mended: %s", f.Failed)
	}
	m.Quick().Silent("tools_open")
	m.Set("BARECLAW_TOOLS_DIR=" + m.Write("file", "", 0o600))
	m.Quick().Tells(doctor.Problem, "tools_unusable", m.Path("file"))
}

func TestDoctorOfTheAddress(t *testing.T) {
	t.Parallel()
	port := harness.TakenPort(t)
	m := harness.NewMachine(t, "BARECLAW_PORT="+port)
	d := m.Quick()
	d.Tells(doctor.Problem, "port_taken", "Port "+port, strconv.Itoa(os.Getpid()))
	m.Set("BARECLAW_HOST=192.0.2.1", "BARECLAW_HTTP_TOKEN=0123456789abcdef")
	m.Quick().Tells(doctor.Problem, "address_foreign", "192.0.2.1", "127.0.0.1")
	m.Set("BARECLAW_HOST=127.0.0.1", "BARECLAW_HTTP_TOKEN=", "BARECLAW_PORT="+harness.FreePort(t)) // which stays free when it is left
	g := m.Start()
	m.Set("BARECLAW_PORT=" + port)
	d = m.Quick()
	d.Tells(doctor.Warning, "address_changed", strings.TrimPrefix(g.Base, "http://"), "bareclaw restart")
	d.Silent("port_taken")
	_, own, _ := net.SplitHostPort(strings.TrimPrefix(g.Base, "http://"))
	m.Set("BARECLAW_PORT=" + own)
	m.Quick().Fine("address", "listens on 127.0.0.1:"+own)
	g.Signal(syscall.SIGTERM)
	m.Quick().Fine("address", "is free")
}

func TestDoctorOfTheExposure(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_HOST=0.0.0.0", "BARECLAW_HTTP_TOKEN=short")
	d := m.Quick()
	d.Tells(doctor.Warning, "exposed", "0.0.0.0")
	d.Tells(doctor.Warning, "setting_odd", "openssl rand")
	m.Set("BARECLAW_HOST=127.0.0.1", "BARECLAW_HTTP_TOKEN=", "BARECLAW_ALLOWED_HOSTS=chat.example.org")
	m.Quick().Tells(doctor.Problem, "setting_wrong", "BARECLAW_ALLOWED_HOSTS", "BARECLAW_HTTP_TOKEN")
	m.Set("BARECLAW_HOST=0.0.0.0")
	m.Quick().Tells(doctor.Problem, "setting_wrong", "BARECLAW_HOST")
}

func TestDoctorOfAGatewayThatIsNotWell(t *testing.T) {
	t.Parallel()
	blockedBot := []map[string]any{{"name": "telegram", "ready": true, "facts": map[string]any{"failed": 3}}}
	rows := []struct {
		name   string
		change func(*standIn)
		level  doctor.Level
		code   string
		parts  []string
	}{
		{"another version", func(s *standIn) { s.health["version"] = "v0.0.1" }, doctor.Warning, "version_differs", []string{"v0.0.1", buildinfo.Version(), "bareclaw restart"}},
		{"problems", func(s *standIn) { s.health["problems"] = []string{"Something \x1b[31mred."} }, doctor.Problem, "gateway_unwell", []string{"Something \uFFFD[31mred."}},
		{"failed restart", func(s *standIn) {
			s.health["failed_restart"] = map[string]any{"at": "2026-01-02T03:04:05Z", "error": "Something \x1b[31mred."}
		}, doctor.Note, "restart_failed", []string{"Something \uFFFD[31mred.", "bareclaw restart"}},
		{"draining", func(s *standIn) { s.health["status"] = "draining" }, doctor.Note, "gateway_busy", []string{"draining"}},
		{"refuses", func(s *standIn) { s.status = 403 }, doctor.Problem, "gateway_refuses", []string{"Not you."}},
		{"another token", func(s *standIn) { s.token = "secret-of-before"; s.Set("BARECLAW_HTTP_TOKEN=secret-of-now-0123") }, doctor.Problem, "token_refused", []string{"bareclaw restart"}},
		{"hangs", func(s *standIn) { s.hang = true }, doctor.Problem, "gateway_hangs", []string{"kill -HUP", "bareclaw stop --now"}},
		{"another claude", func(s *standIn) { s.health["agent"] = map[string]any{"kind": "claude", "path": "/opt/claude"} }, doctor.Warning, "claude_other", []string{"/opt/claude"}},
		{"no bot", func(s *standIn) { bot(s.Machine) }, doctor.Warning, "telegram_off", []string{"bareclaw restart"}},
		{"a bot that was blocked", func(s *standIn) { bot(s.Machine); s.health["parts"] = blockedBot }, doctor.Note, "telegram_failed", []string{"3 deliveries"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			startStandIn(m, row.change)
			d := m.Quick("--offline")
			d.Tells(row.level, row.code, row.parts...)
			if strings.Contains(d.Raw, "secret-of") {
				t.Error("a token is shown")
			}
		})
	}
}

// bot has the machine be configured for one.
func bot(m *harness.Machine) {
	m.Set("BARECLAW_TELEGRAM_TOKEN=123:abcdefghijabcdefghijabcdefghijabcde", "BARECLAW_ALLOWED_USERS=7")
}

func TestDoctorOfAGatewayThatNobodyReaches(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	claimState(m, "127.0.0.1:1")
	d := m.Quick()
	d.Tells(doctor.Problem, "socket_dead", m.Path("run/api.sock"), "kill -HUP")
	d.Tells(doctor.Problem, "tcp_dead", "127.0.0.1:1")
	heldBy(m, lockfile.Holder{PID: os.Getpid(), Start: 1, Ended: true})
	m.Quick().Tells(doctor.Warning, "gateway_down")
}

func TestDoctorWithinASession(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_SOCKET=/run/bareclaw/api.sock")
	m.Quick().Tells(doctor.Note, "inside_session", "terminal")
}

func TestDoctorOfWhatSessionsLeft(t *testing.T) {
	m, g := harness.Started(t)
	g.Say("http", "leave 1 sleep 1000")
	h := m.Hosts()["http"]
	g.Kill()
	m.Write("state/hosts/odd.json", "{", 0o600)
	m.Quick().Tells(doctor.Warning, "record_unreadable", "odd.json")
	check.OK(t, os.Remove(m.Path("state/hosts/odd.json")))
	left := leftBehind(m, h)
	d := m.Quick()
	f := d.Tells(doctor.Warning, "orphans", strconv.Itoa(left.PID))
	if !f.Fixable {
		t.Error("orphans are not to be mended")
	}
	if f := m.Quick("--fix").Find("orphans"); f == nil || !f.Fixed {
		t.Errorf("orphans were not mended: %+v", f)
	}
	if proc.Alive(left.PID, left.Start) {
		t.Error("it lives")
	}
	m.Quick().Fine("sessions", "Session hosts alive: 0")
}

// leftBehind kills a host and its claude so that something of them is left.
func leftBehind(m *harness.Machine, h harness.HostRecord) proc.Process {
	m.T.Helper()
	stop := func(pid int, start uint64) {
		_ = proc.Signal(pid, start, syscall.SIGKILL)
		m.Eventually("it is gone", func() bool { return !proc.Alive(pid, start) })
	}
	stop(h.PID, h.Start)
	stop(h.ClaudePID, h.ClaudeStart)
	var left []proc.Process
	m.Eventually("something is left", func() bool {
		var err error
		left, err = proc.ByEnviron("FAKECLAUDE_LOG", func(v string) bool { return v == m.Path("journal") })
		if err != nil {
			m.T.Skipf("NOT TESTED: processes that sessions leave: %v", err)
		}
		return len(left) == 1
	})
	return left[0]
}

func TestDoctorForAPerson(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_MAX_TURNS=0", "BARECLAW_CLAUDE="+"no-such-claude", "BARECLAW_MODEL=\x1b[2Jred")
	out, errs, status := m.Run("doctor", "--no-turn")
	if status != 1 || errs != "" {
		t.Errorf("status %d, stderr %q", status, errs)
	}
	for _, want := range []string{"configuration  problem  BARECLAW_MODEL", "\n               problem  BARECLAW_MAX_TURNS", "\n                        → set BARECLAW_MAX_TURNS to 1 to 1000000\n", " problems, ", "disk           ok "} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
	if strings.ContainsAny(out, "\x1b") {
		t.Errorf("it commands the terminal: %q", out)
	}
	if _, errs, status := m.Run("doctor", "--bogus"); status != 2 || !strings.Contains(errs, "--bogus") {
		t.Errorf("a bad argument: status %d, %q", status, errs)
	}
}
