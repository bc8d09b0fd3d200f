package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/buildinfo"
	"bareclaw/internal/lockfile"

	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/roottest"
)

func TestDoctorOfAHealthyGatewayFindsNothingAndLeavesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if err := os.Mkdir(m.path("home/.claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	m.write("home/.claude/.credentials.json", "SECRET-LOGIN", 0o600)
	g := m.start()
	g.say("http", "hello").want(t, "ok: hello")
	g.balanced()
	g.eventually("the gateway has written all", func() bool { return strings.Contains(m.log.String(), "heartbeat not installed") })
	before := tree(t, m.path("state")) + tree(t, m.path("run")) + tree(t, m.path("work"))
	d := m.doctor()
	if !d.Healthy || d.Version != buildinfo.Version() {
		t.Errorf("diagnosis: %s", d.raw)
	}
	for _, check := range []string{"configuration", "claude", "turn", "directories", "clock", "address", "gateway", "sessions", "ledger", "exposure"} {
		d.fine(check)
	}
	d.fine("login", "the login kept in "+m.path("home/.claude/.credentials.json"))
	d.fine("gateway", fmt.Sprintf("pid %d", g.cmd.Process.Pid), "its socket and at 127.0.0.1")
	d.fine("ledger", "1 message accepted, 0 open")
	d.fine("sessions", "Session hosts alive: 1")
	if after := tree(t, m.path("state")) + tree(t, m.path("run")) + tree(t, m.path("work")); after != before {
		t.Errorf("doctor has changed something:\n%s\nwas\n%s", after, before)
	}
	g.say("http", "still there").want(t, "ok: still there")
}

func TestDoctorOnANewMachine(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "XDG_RUNTIME_DIR=/nowhere", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere/bus")
	m.set("BARECLAW_STATE_DIR="+m.path("home/state"), "BARECLAW_RUNTIME_DIR="+m.path("home/run"))
	d := m.doctor()
	if !d.Healthy {
		t.Errorf("what is new is no problem: %s", d.raw)
	}
	d.tells(doctor.Note, "state_missing", m.path("home/state"))
	d.tells(doctor.Warning, "gateway_down", "bareclaw serve")
	if strings.Contains(d.raw, "service install") {
		t.Errorf("a service is advised where there is nothing that runs one: %s", d.raw)
	}
	d.fine("login", "claude has a login, since it has answered") // whatever looking for one shows
	d.fine("turn", "claude answered in")
	d.fine("ledger", "no ledger yet")
	if left := m.glob("home/*"); len(left) > 0 {
		t.Errorf("doctor has made %v", left)
	}
	m.quick().tells(doctor.Warning, "login_missing")
}

func TestDoctorTellsEverythingThatIsWrongWithTheSettings(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_PORT=x", "BARECLAW_MAX_TURNS=-1", "BARECLAW_PROT=1")
	m.write("work/.env", "BARECLAW_HTTP_TOKEN=hush-hush-hush-hush\nBARECLAW_QUEUE_LIMIT=none\n", 0o644)
	d := m.quick()
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
	d.tells(doctor.Problem, "setting_wrong", "set BARECLAW_")
	d.tells(doctor.Warning, "setting_odd", "did you mean BARECLAW_PORT?\n") // and no full stop after it
	d.tells(doctor.Problem, "env_readable", m.path("work/.env"), "BARECLAW_HTTP_TOKEN", "chmod 600")
	d.fine("claude") // and so the other checks went on
	d.fine("exposure", "with the token only")
	if strings.Contains(d.raw, "hush") {
		t.Error("a secret is shown")
	}
	m.write("work/.env", "a line that is none\n", 0o600)
	m.quick().tells(doctor.Problem, "setting_wrong")
}

func TestDoctorMendsWhatItCan(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	env := m.write("work/.env", "BARECLAW_HTTP_TOKEN=hush-hush-hush-hush\n", 0o644)
	m.start().kill()
	ledger, socket := m.path("state/ledger.db"), m.path("run/handover-1.sock")
	for path, mode := range map[string]os.FileMode{m.path("state"): 0o755, m.path("run"): 0o711, ledger: 0o640} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	before := m.quick()
	codes := []string{"env_readable", "state_open", "runtime_open", "ledger_open"}
	for _, code := range codes {
		if f := before.tells(doctor.Problem, code, "chmod"); !f.Fixable || f.Fixed {
			t.Errorf("%s: fixable %v, fixed %v", code, f.Fixable, f.Fixed)
		}
	}
	before.tells(doctor.Note, "stale_socket")
	before.tells(doctor.Problem, "gateway_died", "without being told to")

	mending := m.quick("--fix")
	for _, code := range append(codes, "stale_socket") {
		if f := mending.find(code); f == nil || !f.Fixed || f.Failed != "" {
			t.Errorf("%s was not mended: %+v", code, f)
		}
	}
	after := m.quick()
	after.silent(append(codes, "stale_socket")...)
	after.fine("directories")
	for path, want := range map[string]os.FileMode{m.path("state"): 0o700, m.path("run"): 0o700, ledger: 0o600, env: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want mode %o", path, info.Mode(), err, want)
		}
	}
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestDoctorOfDirectoriesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_RUNTIME_DIR=/tmp/"+strings.Repeat("long/", 20))
	m.quick().tells(doctor.Problem, "setting_wrong", "BARECLAW_RUNTIME_DIR", "at most 73 bytes")
	m.write("file", "", 0o600)
	m.set("BARECLAW_STATE_DIR="+m.path("file"), "BARECLAW_RUNTIME_DIR="+m.path("run"))
	m.quick().tells(doctor.Problem, "directory_unusable", "is not a directory")

	m.set("BARECLAW_STATE_DIR="+m.path("state"), "BARECLAW_RUNTIME_DIR="+m.path("gone"))
	m.claimState("127.0.0.1:1")
	m.quick().tells(doctor.Problem, "runtime_missing", m.path("gone"))
}

func TestDoctorOfWhatBelongsToAnotherUser(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	env := m.write("work/.env", "# nothing\n", 0o600)
	for _, path := range []string{env, m.path("state")} {
		if err := os.Chown(path, os.Getuid()+4711, -1); err != nil {
			roottest.Unavailable(t, "files of another user: giving them away takes root: %v", err)
		}
	}
	d := m.quick()
	d.tells(doctor.Problem, "env_owner", env, "chown", "as root")
	d.tells(doctor.Problem, "directory_owner", m.path("state"), "chown -R")
}

func TestDoctorOfTheClock(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.start().signal(syscall.SIGTERM)
	later := time.Now().Add(24 * time.Hour)
	if err := os.Chtimes(m.path("state/ledger.db"), later, later); err != nil {
		t.Fatal(err)
	}
	m.quick().tells(doctor.Problem, "clock_behind", m.path("state/ledger.db"))
}

func TestDoctorOfTheAddress(t *testing.T) {
	t.Parallel()
	port := takenPort(t)
	m := newMachine(t, "BARECLAW_PORT="+port)
	d := m.quick()
	d.tells(doctor.Problem, "port_taken", "Port "+port, strconv.Itoa(os.Getpid()))
	m.set("BARECLAW_HOST=192.0.2.1", "BARECLAW_HTTP_TOKEN=0123456789abcdef")
	m.quick().tells(doctor.Problem, "address_foreign", "192.0.2.1", "127.0.0.1")
	m.set("BARECLAW_HOST=127.0.0.1", "BARECLAW_HTTP_TOKEN=", "BARECLAW_PORT="+freePort(t)) // which stays free when it is left
	g := m.start()
	m.set("BARECLAW_PORT=" + port)
	d = m.quick()
	d.tells(doctor.Warning, "address_changed", strings.TrimPrefix(g.base, "http://"), "bareclaw restart")
	d.silent("port_taken")
	_, own, _ := net.SplitHostPort(strings.TrimPrefix(g.base, "http://"))
	m.set("BARECLAW_PORT=" + own)
	m.quick().fine("address", "listens on 127.0.0.1:"+own)
	g.signal(syscall.SIGTERM)
	m.quick().fine("address", "is free")
}

func TestDoctorOfTheExposure(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_HOST=0.0.0.0", "BARECLAW_HTTP_TOKEN=short")
	d := m.quick()
	d.tells(doctor.Warning, "exposed", "0.0.0.0")
	d.tells(doctor.Warning, "setting_odd", "openssl rand")
	m.set("BARECLAW_HOST=127.0.0.1", "BARECLAW_HTTP_TOKEN=", "BARECLAW_ALLOWED_HOSTS=chat.example.org")
	m.quick().tells(doctor.Warning, "proxy_without_token", "chat.example.org", "openssl rand")
	m.set("BARECLAW_HOST=0.0.0.0")
	m.quick().tells(doctor.Problem, "setting_wrong", "BARECLAW_HOST")
}

func TestDoctorOfAGatewayThatIsNotWell(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name   string
		change func(*standIn)
		level  doctor.Level
		code   string
		parts  []string
	}{
		{"another version", func(s *standIn) { s.health["version"] = "v0.0.1" }, doctor.Warning, "version_differs", []string{"v0.0.1", buildinfo.Version(), "bareclaw restart"}},
		{"problems", func(s *standIn) { s.health["problems"] = []string{"Something \x1b[31mred."} }, doctor.Problem, "gateway_unwell", []string{"Something \uFFFD[31mred."}},
		{"draining", func(s *standIn) { s.health["status"] = "draining" }, doctor.Note, "gateway_busy", []string{"draining"}},
		{"refuses", func(s *standIn) { s.status = 403 }, doctor.Problem, "gateway_refuses", []string{"Not you."}},
		{"another token", func(s *standIn) { s.token = "secret-of-before"; s.set("BARECLAW_HTTP_TOKEN=secret-of-now-0123") }, doctor.Problem, "token_refused", []string{"bareclaw restart"}},
		{"hangs", func(s *standIn) { s.hang = true }, doctor.Problem, "gateway_hangs", []string{"kill -HUP", "bareclaw stop --now"}},
		{"another claude", func(s *standIn) { s.health["agent"] = map[string]any{"kind": "claude", "path": "/opt/claude"} }, doctor.Warning, "claude_other", []string{"/opt/claude"}},
		{"no bot", func(s *standIn) { s.bot() }, doctor.Warning, "telegram_off", []string{"bareclaw restart"}},
		{"a deaf bot", func(s *standIn) {
			s.bot()
			s.health["telegram"] = map[string]any{"problem": "It is gone."}
			s.health["problems"] = []string{"It is gone."}
		}, doctor.Problem, "telegram_deaf", []string{"It is gone."}},
		{"a bot at its start", func(s *standIn) { s.bot(); s.health["telegram"] = map[string]any{"ready": false} }, doctor.Note, "telegram_starting", nil},
		{"a bot that was blocked", func(s *standIn) { s.bot(); s.health["telegram"] = map[string]any{"ready": true, "failed": 3} }, doctor.Note, "telegram_failed", []string{"3 deliveries"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.standIn(row.change)
			d := m.quick("--offline")
			d.tells(row.level, row.code, row.parts...)
			if row.code == "telegram_deaf" {
				d.silent("gateway_unwell") // which would say it twice
			}
			if strings.Contains(d.raw, "secret-of") {
				t.Error("a token is shown")
			}
		})
	}
}

// bot has the machine be configured for one.
func (m *machine) bot() {
	m.set("BARECLAW_TELEGRAM_TOKEN=123:abcdefghijabcdefghijabcdefghijabcde", "BARECLAW_ALLOWED_USERS=7")
}

func TestDoctorOfAGatewayThatNobodyReaches(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.claimState("127.0.0.1:1")
	d := m.quick()
	d.tells(doctor.Problem, "socket_dead", m.path("run/api.sock"), "kill -HUP")
	d.tells(doctor.Problem, "tcp_dead", "127.0.0.1:1")
	m.heldBy(lockfile.Holder{PID: os.Getpid(), Start: 1, Ended: true})
	m.quick().tells(doctor.Warning, "gateway_down")
}

func TestDoctorWithinASession(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_SOCKET=/run/bareclaw/api.sock")
	m.quick().tells(doctor.Note, "inside_session", "terminal")
}

func TestDoctorOfWhatSessionsLeft(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	g.say("http", "leave 1 sleep 1000")
	h := m.hosts()["http"]
	g.kill()
	m.write("state/hosts/odd.json", "{", 0o600)
	m.quick().tells(doctor.Warning, "record_unreadable", "odd.json")
	if err := os.Remove(m.path("state/hosts/odd.json")); err != nil {
		t.Fatal(err)
	}
	left := m.leftBehind(h)
	d := m.quick()
	f := d.tells(doctor.Warning, "orphans", strconv.Itoa(left.PID))
	if !f.Fixable {
		t.Error("orphans are not to be mended")
	}
	if f := m.quick("--fix").find("orphans"); f == nil || !f.Fixed {
		t.Errorf("orphans were not mended: %+v", f)
	}
	if proc.Alive(left.PID, left.Start) {
		t.Error("it lives")
	}
	m.quick().fine("sessions", "Session hosts alive: 0")
}

// leftBehind kills a host and its claude so that something of them is left.
func (m *machine) leftBehind(h hostRecord) proc.Process {
	m.t.Helper()
	stop := func(pid int, start uint64) {
		_ = proc.Signal(pid, start, syscall.SIGKILL)
		m.eventually("it is gone", func() bool { return !proc.Alive(pid, start) })
	}
	stop(h.PID, h.Start)
	stop(h.ClaudePID, h.ClaudeStart)
	var left []proc.Process
	m.eventually("something is left", func() bool {
		var err error
		left, err = proc.ByEnviron("FAKECLAUDE_LOG", func(v string) bool { return v == m.path("journal") })
		if err != nil {
			m.t.Skipf("NOT TESTED: processes that sessions leave: %v", err)
		}
		return len(left) == 1
	})
	return left[0]
}

func TestDoctorForAPerson(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_MAX_TURNS=0", "BARECLAW_CLAUDE="+"no-such-claude", "BARECLAW_MODEL=\x1b[2Jred")
	out, errs, status := m.run("doctor", "--no-turn")
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
	if _, errs, status := m.run("doctor", "--bogus"); status != 2 || !strings.Contains(errs, "--bogus") {
		t.Errorf("a bad argument: status %d, %q", status, errs)
	}
}

func TestDoctorPrintsOneDocument(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	out, _, _ := m.run("doctor", "--json", "--no-turn")
	var doc struct{ Findings []map[string]any }
	if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Findings) < 8 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, f := range doc.Findings {
		if f["check"] == "" || f["what"] == "" || f["level"] != "ok" && (f["code"] == nil || f["why"] == nil) {
			t.Errorf("finding %v", f)
		}
	}
}
