package service

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bareclaw/heartbeat"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/executable"
)

// wantTold fails unless a chat has got these texts of the bot, and nothing else.
func wantTold(t *testing.T, chat *botapi.Chat, want ...string) {
	t.Helper()
	var got []string
	for _, m := range chat.FromBot() {
		got = append(got, m.Text)
	}
	if !slices.EqualFunc(got, want, strings.Contains) {
		t.Errorf("the user was told %q, want %q", got, want)
	}
}

// newHeart makes a machine with a bot whose user hears what the heartbeat has to tell. The
// message is read from a file, which instruct changes.
func newHeart(t *testing.T, message string, settings ...string) (*harness.Machine, *botapi.Chat) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "message")
	m, _, _, chat := harness.NewChat(t, append([]string{
		"BARECLAW_HEARTBEAT_NOTIFY=tg-7", "BARECLAW_HEARTBEAT_MESSAGE=@" + path, harness.SlotLength(0),
	}, settings...)...)
	instruct(m, message)
	return m, chat
}

// instruct changes what the agent is asked from the next run on.
func instruct(m *harness.Machine, message string) {
	m.T.Helper()
	for _, v := range m.Env {
		if path, ok := strings.CutPrefix(v, "BARECLAW_HEARTBEAT_MESSAGE=@"); ok {
			check.OK(m.T, os.WriteFile(path, []byte(message), 0o600))
		}
	}
}

// TestHeartbeatAllIsWell: one turn in a slot, and nobody is told.
func TestHeartbeatAllIsWell(t *testing.T) {
	t.Parallel()
	m, chat := newHeart(t, "echo **HEARTBEAT_OK**")
	g := m.Start()
	m.Beat(0)
	m.Beat(0) // which finds the run of the slot over
	m.WantBeats("ok", 1)
	said := m.With(harness.SlotLength(1)).Command(exitcode.OK, "heartbeat", "run", "--json").Document()
	m.WantBeats("ok, ok", 2)
	wantTold(t, chat)
	last := m.Ticks().Ticks[1]
	if tick, _ := said.JSON["tick"].(map[string]any); tick["outcome"] != "ok" || tick["message_id"] != last.Message {
		t.Errorf("recorded %+v, and printed as JSON is %s", last, said.Body)
	}
	if a := g.Outcome(last.Message); a.Str("channel") != "heartbeat" || a.JSON["cost_usd"] != last.CostUSD || last.CostUSD <= 0 {
		t.Errorf("recorded %+v, and the message is %s", last, a.Body)
	}
}

// TestHeartbeatsAtOnce: of ticks that are called at once one asks and tells.
func TestHeartbeatsAtOnce(t *testing.T) {
	t.Parallel()
	m, chat := newHeart(t, "slow 300 Look at the disk.")
	m.Start()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { m.Beat(0) })
	}
	all.Wait()
	m.Beat(0)
	m.WantBeats("told", 1)
	wantTold(t, chat, "Look at the disk.")
}

// TestHeartbeatKilled kills ticks after each of their steps, or the gateway while the agent
// looks; another tick goes on.
func TestHeartbeatKilled(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"asking for the run", "told"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			m, chat := newHeart(t, "echo The disk is nearly full.", "BARECLAW_HEARTBEAT_PRECHECK=true")
			m.Start()
			for range 3 {
				killAt(m, step)
			}
			m.Beat(0)
			m.WantBeats("told", 1)
			wantTold(t, chat, "The disk is nearly full.")
			if n := m.Begun("/clear"); n != 1 {
				t.Errorf("the session was cleared %d times", n)
			}
		})
	}
	t.Run("the gateway", func(t *testing.T) {
		t.Parallel()
		m, chat := newHeart(t, "")
		instruct(m, "wait "+m.Path("go"))
		g := m.Start()
		m.Beat(0, "--wait=0s")
		m.Begins("[channel: heartbeat")
		g.Kill()
		m.Start()
		m.Touch("go")
		m.Beat(0)
		m.WantBeats("told", 1)
		if n := len(chat.FromBot()); n != 1 {
			t.Errorf("the user was told %d times, want once", n)
		}
	})
}

// killAt kills a tick when it has said that it is so far, if it comes there.
func killAt(m *harness.Machine, step string) {
	m.T.Helper()
	cmd := m.Prepare("heartbeat", "run")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	check.OK(m.T, err)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), step) {
			_ = cmd.Process.Kill()
			break
		}
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
}

// TestHeartbeatPrecheck: where it finds nothing, the agent is not asked.
func TestHeartbeatPrecheck(t *testing.T) {
	t.Parallel()
	m, _ := newHeart(t, "echo HEARTBEAT_OK", "BARECLAW_HEARTBEAT_PRECHECK=env >precheck.env; pwd; test -e due")
	m.Start()
	m.Beat(0)
	m.WantBeats("nothing to do", 0)
	env, err := os.ReadFile(m.Path("work/precheck.env"))
	if err != nil || !strings.Contains(string(env), "PATH=") || strings.Contains(string(env), "BARECLAW_") {
		t.Errorf("the precheck has the environment %q, want that of the agent's commands", env)
	}
	if last := m.Ticks().Ticks[0]; !strings.Contains(last.Detail, m.Path("work")) {
		t.Errorf("recorded %+v, want what the precheck printed", last)
	}
	m.Touch("work/due")
	m.Beat(0)
	m.WantBeats("nothing to do, ok", 1)
}

// TestHeartbeatOutOfReach: while the user cannot be told the agent goes on looking, in
// each slot. Once they can be, one message has all that they were not told.
func TestHeartbeatOutOfReach(t *testing.T) {
	t.Parallel()
	m, chat := newHeart(t, "")
	m.Start()
	says := func(slot, status int, text string) string {
		instruct(m, "echo "+text)
		return m.With(harness.SlotLength(slot)).Beat(status)
	}
	chat.Block()
	says(0, 1, "The disk is nearly full.")
	says(1, 1, "The disk is nearly full.")
	says(2, 1, "HEARTBEAT_OK") // which is about what is new
	says(3, 1, "There is new mail.")
	says(3, 1, "Nobody hears this.")
	m.WantBeats("said, said, ok, said", 4)
	m.Command(exitcode.OK, "heartbeat", "status").Shows("untold", " 3 since ", "blocked by the user", "not told yet")
	chat.Unblock()
	if out := says(4, 0, "HEARTBEAT_OK"); !strings.Contains(out, `told "tg-7"`) {
		t.Errorf("the tick says\n%s", out)
	}
	says(5, 0, "All of it is mended.")
	m.WantBeats("told, told, ok, told, ok, told", 6)
	wantTold(t, chat, "could not be sent before", "All of it is mended.")
	first := chat.FromBot()[0].Text
	if strings.Count(first, "The disk is nearly full.") != 1 || strings.Count(first, "There is new mail.") != 1 {
		t.Errorf("the user was told %q", first)
	}
	if out := m.Command(exitcode.OK, "heartbeat", "status").Out.String(); strings.Contains(out, "not told") || strings.Contains(out, "untold") {
		t.Errorf("the status says\n%s", out)
	}
}

// TestHeartbeatRevives starts a gateway that is down, as .env says, and asks.
func TestHeartbeatRevives(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, harness.SlotLength(0))
	m.Env = slices.DeleteFunc(m.Env, func(v string) bool { return strings.HasPrefix(v, "BARECLAW_PORT=") })
	port := harness.FreePort(t)
	address := net.JoinHostPort("127.0.0.1", port)
	settings := "BARECLAW_PORT=" + port + "\nBARECLAW_HTTP_TOKEN=sesame\nBARECLAW_HEARTBEAT_MESSAGE=echo HEARTBEAT_OK\n"
	check.OK(t, os.WriteFile(m.Path("work/.env"), []byte(settings), 0o600))
	m.Remembers()
	m.Beat(0)
	m.WantBeats("ok", 1)
	first := m.Holder()
	if !proc.Alive(first.PID, first.Start) || first.Address != address {
		t.Fatalf("the gateway that was started is %+v, want one at %s", first, address)
	}
	g := &harness.Gateway{Machine: m, Base: "http://" + address, HTTP: harness.NewClient(t)}
	if a, err := g.Do("GET", "/health", nil); err != nil || a.Status != 401 {
		t.Errorf("GET /health without the token: %v, %d", err, a.Status)
	}
	if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", first.PID)); err == nil && bytes.Contains(env, []byte("sesame")) {
		t.Error("what .env says is in the gateway's own environment, where a changed .env could not change it")
	}
	const ready = `"msg":"ready"`
	m.Eventually("the gateway has said that it is ready", func() bool { // it serves before that
		log, _ := os.ReadFile(m.Path("state/bareclaw.log"))
		return bytes.Contains(log, []byte(ready))
	})
	check.OK(t, proc.Signal(first.PID, first.Start, syscall.SIGKILL))
	m.Eventually("the gateway is dead", func() bool { return !proc.Alive(first.PID, first.Start) })
	log, err := os.ReadFile(m.Path("state/bareclaw.log"))
	if n := bytes.Count(log, []byte(ready)); err != nil || n != 1 {
		t.Errorf("the gateway's log, %v, says %d times that it is ready:\n%s", err, n, log)
	}
	m.With(harness.SlotLength(1)).Beat(0)
	m.WantBeats("ok, ok", 2)
	if second := m.Holder(); !proc.Alive(second.PID, second.Start) || second.PID == first.PID {
		t.Errorf("the gateway is %+v", second)
	}
	for i, tick := range m.Ticks().Ticks {
		if !tick.Started {
			t.Errorf("tick %d has not recorded that it started the gateway", i)
		}
	}
}

// TestHeartbeatCannotRevive says why a gateway does not start.
func TestHeartbeatCannotRevive(t *testing.T) {
	t.Parallel()
	port := harness.TakenPort(t)
	m := harness.NewMachine(t, harness.SlotLength(0), "BARECLAW_PORT="+port)
	m.Beat(1)
	m.WantBeats("unreachable", 0)
	log, err := os.ReadFile(m.Path("state/bareclaw.log"))
	if err != nil || !strings.Contains(string(log), "in use") {
		t.Errorf("the log of the gateway: %v\n%s", err, log)
	}
}

// TestHeartbeatAllTheSame: a tick looks after the gateway and asks, also where records are
// damaged, the log cannot be written, as after a tick by another user, or the gateway's socket
// is not where the settings say, as of a gateway that was started in another login.
func TestHeartbeatAllTheSame(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(m *harness.Machine) (settings string, err error)
		says  string
	}{
		"damaged records": {func(m *harness.Machine) (string, error) {
			return "", os.WriteFile(m.Path("state/heartbeat.json"), []byte("\x00\x00"), 0o600)
		}, "heartbeat.json.damaged"},
		"no log": {func(m *harness.Machine) (string, error) { return "", os.Mkdir(m.Path("state/heartbeat.log"), 0o700) }, "is a directory"},
		"elsewhere": {func(m *harness.Machine) (string, error) {
			m.Start()
			return "BARECLAW_RUNTIME_DIR=" + m.Path("other"), os.Mkdir(m.Path("other"), 0o700)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t, harness.SlotLength(0), "BARECLAW_HTTP_TOKEN=sesame", "BARECLAW_HEARTBEAT_MESSAGE=echo HEARTBEAT_OK")
			settings, err := c.spoil(m)
			check.OK(t, err)
			m = m.With(settings)
			if out := m.Beat(0); !strings.Contains(out, c.says) {
				t.Errorf("the tick says\n%s", out)
			}
			if h := m.Holder(); !proc.Alive(h.PID, h.Start) {
				t.Errorf("the gateway is %+v", h)
			}
			m.Beat(0)
			m.WantBeats("ok", 1)
		})
	}
}

// TestHeartbeatStatus shows what was installed, why not, and what ticks found, as text
// that cannot command a terminal.
func TestHeartbeatStatus(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, harness.SlotLength(0), "BARECLAW_HEARTBEAT=on", "BARECLAW_HEARTBEAT_MESSAGE=echo \u202ered\u009b2J")
	m.Start()
	m.Eventually("the gateway has said why it installs nothing", func() bool { return strings.Contains(m.Log.String(), "heartbeat not installed") })
	m.Beat(0)
	self := harness.Bareclaw(t)
	show := func(flags ...string) []byte {
		cmd := exec.Command(self, append([]string{"heartbeat", "status"}, flags...)...)
		cmd.Env, cmd.Dir = m.Env, m.Path("work")
		out, err := cmd.Output()
		if err != nil && len(out) == 0 {
			t.Fatalf("heartbeat status: %v", err)
		}
		return out
	}
	text := string(show())
	for _, want := range []string{"not installed", "is in /tmp, where files do not stay", "said", "red"} { // each once, though the gateway says the second too
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Count(text, "where files do not stay") != 1 {
		t.Errorf("a reason is told more than once in\n%s", text)
	}
	if strings.ContainsAny(text, "\u202e\u009b\x1b") {
		t.Errorf("characters that command a terminal are in %q", text)
	}
	var s heartbeat.Status
	document := show("--json")
	if bytes.ContainsAny(document, "\u202e\u009b\x1b") {
		t.Errorf("characters that command a terminal are in %q", document)
	}
	if err := json.Unmarshal(document, &s); err != nil || s.Installed || s.Gateway == nil || !s.Gateway.Loud || len(s.Ticks) != 1 {
		t.Errorf("status is %+v, %v", s, err)
	}
}

// TestHeartbeatInstallScript finds the program, from wherever it is called.
func TestHeartbeatInstallScript(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("heartbeat/install.sh")
	check.OK(t, err)
	dir := t.TempDir() + "/with a space"
	write := func(name string, text []byte) {
		path := filepath.Join(dir, name)
		check.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), executable.Write(path, text)))
	}
	run := func(path string) (string, error) {
		cmd := exec.Command("bash", filepath.Join(dir, "heartbeat/install.sh"), "--print")
		cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=" + path + "/usr/bin:/bin"}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	write("heartbeat/install.sh", script)
	if out, err := run(""); err == nil || !strings.Contains(out, "neither on PATH nor at") {
		t.Errorf("without a program: %v\n%s", err, out)
	}
	write("bin/bareclaw", []byte("#!/bin/sh\necho built \"$@\"\n"))
	if out, err := run(""); err != nil || out != "built heartbeat install --print\n" {
		t.Errorf("with one that was built: %v\n%s", err, out)
	}
	write("elsewhere/bareclaw", []byte("#!/bin/sh\necho found \"$@\"\n"))
	if out, err := run(filepath.Join(dir, "elsewhere") + ":"); err != nil || out != "found heartbeat install --print\n" {
		t.Errorf("with one on PATH: %v\n%s", err, out)
	}
}
