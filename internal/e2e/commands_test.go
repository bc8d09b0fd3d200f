package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/core"
	"bareclaw/core/ledger"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/logfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/term"
)

// An invocation is one run of a command of the program.
type invocation struct {
	t        testing.TB
	cmd      *exec.Cmd
	out, err lockedBuffer
	done     chan struct{} // closed when it has ended
}

// invoke starts a command on the machine.
func (m *machine) invoke(stdin io.Reader, args ...string) *invocation {
	m.t.Helper()
	self := bareclaw(m.t)
	i := &invocation{t: m.t, cmd: exec.Command(self, args...), done: make(chan struct{})}
	i.cmd.Dir, i.cmd.Env = m.path("work"), m.env
	i.cmd.Stdin, i.cmd.Stdout, i.cmd.Stderr = stdin, &i.out, &i.err
	if err := i.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	go func() {
		_ = i.cmd.Wait()
		close(i.done)
	}()
	m.t.Cleanup(func() {
		_ = i.cmd.Process.Kill()
		<-i.done
	})
	return i
}

// wait waits for its end and fails unless it has that exit status, and has printed
// nothing that commands a terminal.
func (i *invocation) wait(status int) *invocation {
	i.t.Helper()
	i.ends(status)
	if s := i.out.String() + i.err.String(); strings.ContainsFunc(s, func(r rune) bool { return r != '\t' && commandsTerminal(r) }) {
		i.t.Errorf("%v prints control characters: %q", i.cmd.Args[1:], s)
	}
	return i
}

// ends is wait for a command that may print control characters.
func (i *invocation) ends(status int) *invocation {
	i.t.Helper()
	select {
	case <-i.done:
	case <-time.After(patience):
		i.t.Fatalf("%v does not end; it says\n%s%s", i.cmd.Args[1:], i.out.String(), i.err.String())
	}
	if got := i.cmd.ProcessState.ExitCode(); got != status {
		i.t.Fatalf("%v: exit status %d, want %d; it says\n%s%s", i.cmd.Args[1:], got, status, i.out.String(), i.err.String())
	}
	return i
}

// prints fails unless the output is exactly that.
func (i *invocation) prints(want string) *invocation {
	i.t.Helper()
	if got := i.out.String(); got != want {
		i.t.Errorf("%v prints %q, want %q", i.cmd.Args[1:], got, want)
	}
	return i
}

// shows fails unless the output has all of that.
func (i *invocation) shows(pieces ...string) *invocation {
	i.t.Helper()
	for _, want := range pieces {
		if got := i.out.String(); !strings.Contains(got, want) {
			i.t.Errorf("%v prints no %q:\n%s", i.cmd.Args[1:], want, got)
		}
	}
	return i
}

// tells fails unless all of that is on standard error.
func (i *invocation) tells(pieces ...string) *invocation {
	i.t.Helper()
	for _, want := range pieces {
		if got := i.err.String(); !strings.Contains(got, want) {
			i.t.Errorf("%v tells nothing of %q:\n%s", i.cmd.Args[1:], want, got)
		}
	}
	return i
}

// document returns the one JSON document that was printed.
func (i *invocation) document() answer {
	i.t.Helper()
	a := answer{body: []byte(i.out.String())}
	dec := json.NewDecoder(bytes.NewReader(a.body))
	if err := dec.Decode(&a.json); err != nil {
		i.t.Fatalf("%v prints no JSON: %v\n%s", i.cmd.Args[1:], err, a.body)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		i.t.Errorf("%v prints more than one document:\n%s", i.cmd.Args[1:], a.body)
	}
	return a
}

// command runs a command that has to end with that status.
func (m *machine) command(status int, args ...string) *invocation {
	m.t.Helper()
	return m.invoke(nil, args...).wait(status)
}

// hostile is a channel whose name gives commands to a terminal that shows it. A gateway
// refuses a new channel of that name, but an older one may have left it.
const hostile = "evil\u202e]/name %s"

// seedChannels writes a cancelled message of each channel into the ledger, as an older
// gateway may have left it. No daemon runs.
func (m *machine) seedChannels(keys ...string) {
	m.t.Helper()
	l, err := ledger.Open(m.path("state/ledger.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		m.t.Fatal(err)
	}
	var c core.Change
	for _, key := range keys {
		id := core.MessageID(uuid.NewString())
		c.Accept = append(c.Accept, &core.Message{
			ID: id, Channel: core.ChannelKey(key), Mode: core.Collect, Content: core.Content{Text: "seed"}, ReceivedAt: time.Now(), State: core.Waiting,
		})
		c.Settle = append(c.Settle, core.Settlement{ID: id, EndedAt: time.Now(), Reply: core.Reply{State: core.Cancelled}.Complete()})
	}
	written := make(chan error, 1)
	l.Write(c, func(err error) { written <- err })
	if err := errors.Join(<-written, l.Close()); err != nil {
		m.t.Fatal(err)
	}
}

// begins waits until a turn with that text has begun.
func (m *machine) begins(text string) {
	m.t.Helper()
	m.eventually("the turn runs", func() bool { return m.begun(text) > 0 })
}

func TestSendPrintsTheAnswerAlone(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "EVIL=\x1b]0;owned\x07 \u009b31m \u202e")
	g := m.start()
	m.invoke(nil, "send", "desk", "env EVIL").ends(exitcode.OK).prints("\x1b]0;owned\x07 \u009b31m \u202e\n") // to a pipe as it is
	if a := m.command(exitcode.OK, "send", "desk", "env EVIL", "--json").document(); a.str("text") != "\x1b]0;owned\x07 \u009b31m \u202e" {
		t.Errorf("the outcome is %s", a.body)
	}
	m.command(exitcode.OK, "send", "desk", "echo", "two words").prints("two words\n")
	m.invoke(strings.NewReader("echo from the input\n"), "send", "desk", "-").wait(exitcode.OK).prints("from the input\n")
	m.command(exitcode.OK, "send", "desk", "- a list\n- of two").prints("ok: - a list\n- of two\n")
	a := m.command(exitcode.OK, "send", "desk", "echo data", "--json").document()
	a.want(t, "data")
	if a.str("channel") != "desk" || a.str("state") != "answered" {
		t.Errorf("the outcome is %s", a.body)
	}
	m.command(exitcode.Failed, "send", "desk", "notloggedin").prints("").tells("bareclaw: ")
	failed := m.command(exitcode.Failed, "send", "other", "apierror 500", "--json").document()
	if !failed.flag("is_error") {
		t.Errorf("the outcome is %s", failed.body)
	}
	id := strings.TrimSpace(m.command(exitcode.OK, "send", "third", "echo later", "--async").out.String())
	g.outcome(id).want(t, "later")
	accepted := m.command(exitcode.OK, "send", "third", "echo later", "--async", "--json", "--idempotency-key", "k1").document()
	again := m.command(exitcode.OK, "send", "third", "echo later", "--json", "--idempotency-key", "k1").document()
	if again.str("message_id") != accepted.str("message_id") {
		t.Errorf("the same key made another message: %s, %s", accepted.body, again.body)
	}
}

func TestSendRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.start()
	m.command(exitcode.Usage, "send").tells("channel", "Try: bareclaw send --help")
	m.command(exitcode.Usage, "send", "desk").tells("send what?")
	m.command(exitcode.Usage, "send", "desk", "x", "--mode", "shout").tells("collect")
	m.command(exitcode.Usage, "send", "desk", "x", "--push", "--async").tells("--push")
	m.command(exitcode.Usage, "send", "desk", "x", "--push", "--ask")
	m.command(exitcode.Usage, "sned", "desk", "x").tells(`there is no command sned, did you mean "send"?`, "Try: bareclaw --help")
	m.command(exitcode.Usage, "channels", "shwo").tells("there is no command shwo", "Try: bareclaw channels --help")
	m.command(exitcode.Usage, "channels", "list", "desk").tells("unexpected argument desk", "Try: bareclaw channels list --help")
	m.command(exitcode.Usage, "serve", "desk").tells("unexpected argument desk", "Try: bareclaw serve --help")
	m.command(exitcode.Usage, "schedule", "add", "desk", "tea").tells("--at", "--in", "--every", "--cron")
	for _, budget := range []string{"NaN", "-1", "Inf"} {
		m.command(exitcode.Usage, "schedule", "add", "desk", "tea", "--in", "5m", "--budget="+budget).tells("budget")
	}
	m.command(exitcode.Usage, "send", "desk", " ").tells("not blank")
	m.command(exitcode.Failed, "send", "desk", "x", "--push").tells("No adapter")
	m.command(exitcode.Failed, "trace", "00000000-0000-0000-0000-000000000000")
	m.command(exitcode.Failed, "trace", "00000000").tells("no message")
	m.command(exitcode.Usage, "trace", "").tells("which message?")
	m.command(exitcode.Failed, "channels", "show", "elsewhere").tells("`bareclaw channels` lists")
	m.env = append(m.env, "BARECLAW_PORT=http")
	m.command(exitcode.Usage, "status").tells("BARECLAW_PORT")
}

func TestSendIsAnsweredTogetherWithALaterMessage(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	_, finish := g.occupy("desk")
	first := m.invoke(nil, "send", "desk", "first")
	g.queued("desk", 1)
	g.tell("desk", "and a second")
	finish()
	first.wait(exitcode.OK).prints("ok: first\n\nand a second\n").tells("together with a later message")
}

func TestSendOutlivesARestart(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	i := m.invoke(nil, "send", "desk", "wait "+m.path("go"))
	m.begins("wait")
	restarted := m.command(exitcode.OK, "restart", "--json").document()
	before, after := restarted.json["before"].(map[string]any), restarted.json["after"].(map[string]any)
	if before["pid"] == after["pid"] || after["generation"].(float64) <= before["generation"].(float64) {
		t.Errorf("restart says %s", restarted.body)
	}
	m.command(exitcode.OK, "restart").shows("Restarted in ")
	m.touch("go")
	i.wait(exitcode.OK).prints("waited for " + m.path("go") + "\n")
	if n := g.balanced(); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}

func TestSendOutlivesTheDeathOfTheGateway(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	i := m.invoke(nil, "send", "desk", "wait "+m.path("go"))
	m.begins("wait")
	g.kill()
	g = m.start()
	m.touch("go")
	i.wait(exitcode.OK).prints("waited for " + m.path("go") + "\n")
	if n := g.balanced(); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}

func TestInterruptedSendSaysThatTheMessageGoesOn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	// Standard error is a terminal: there it can be seen that the command knows of its
	// message what it is to tell.
	cmd := exec.Command("sh", "-c", `exec "$0" send desk "$1" >"$2"`, m.executable(), "wait "+m.path("go"), m.path("printed"))
	cmd.Dir, cmd.Env = m.path("work"), append(slices.Clone(m.env), "TERM=xterm-256color")
	term := m.displayed(cmd)
	m.eventually("the turn is shown", func() bool { return strings.Contains(term.written(), "  at work") })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	told := regexp.MustCompile(`goes on.*bareclaw trace (\S+)`).FindStringSubmatch(term.exits(exitcode.Interrupted))
	if told == nil {
		t.Fatalf("it tells %q", term.written())
	}
	id := told[1]
	m.wantFile("printed", "")
	for limit := 50 * time.Millisecond; ; limit *= 2 { // in which it may not be heard that the message is accepted
		i := m.command(exitcode.Failed, "send", "desk", "echo more", "--idempotency-key", "k", "--timeout", limit.String()).prints("")
		if i.tells("no answer within " + limit.String()); strings.Contains(i.err.String(), "bareclaw trace ") || limit > patience {
			i.tells("bareclaw trace ")
			break
		}
	}
	m.touch("go")
	g.outcome(id).want(t, "waited for "+m.path("go"))
	m.command(exitcode.OK, "trace", id).shows("waited for "+m.path("go"), "received", "answered", "desk")
	trace := m.command(exitcode.OK, "trace", id, "--json").document()
	if _, ok := trace.json["timeline"].([]any); !ok {
		t.Errorf("the trace is %s", trace.body)
	}
}

// TestSendInsideASession runs commands as claude's Bash does: there the gateway is known
// by its socket alone, and nothing waits for itself.
func TestSendInsideASession(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	if got := g.say("desk", "env "+client.SocketVariable).str("text"); got != g.sock {
		t.Fatalf("claude has the socket %q, want %q", got, g.sock)
	}
	marker := g.say("desk", "env BARECLAW_SESSION").str("text")
	in := *m
	in.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.path("home"), client.SocketVariable + "=" + g.sock, "BARECLAW_SESSION=" + marker}
	in.command(exitcode.Failed, "send", "desk", "hello").tells("No adapter", "--ask")
	in.command(exitcode.Failed, "send", "desk", "hello", "--ask").tells("session of desk itself")
	in.command(exitcode.OK, "send", "other", "echo hello", "--ask").prints("hello\n")
	in.command(exitcode.Usage, "send", "desk", "hello", "--async").tells("--ask")
	id := strings.TrimSpace(in.command(exitcode.OK, "send", "desk", "echo later", "--ask", "--async").out.String())
	g.outcome(id).want(t, "later")
	in.command(exitcode.Failed, "channels", "set", "desk", "--model", "x").tells("for people")
	in.command(exitcode.Failed, "schedule", "add", "desk", "x", "--in", "1h", "--precheck", "true").tells("made by people")
	in.command(exitcode.OK, "schedule", "add", "desk", "x", "--in", "1h").shows("on desk")
	in.command(exitcode.Failed, "approvals", "allow", "x").tells("for people")
	in.command(exitcode.Failed, "channels", "reset", "desk").tells("session of desk itself")
	in.command(exitcode.OK, "status").shows("desk")
	in.command(exitcode.OK, "restart").shows("Restarted in ")
	if m.hosts()["desk"].PID == 0 {
		t.Error("the session has ended")
	}
}

// TestServeInsideASessionIsAGatewayOfItsOwn starts one where the socket of another is
// in the environment.
func TestServeInsideASessionIsAGatewayOfItsOwn(t *testing.T) {
	t.Parallel()
	outer := newMachine(t).start()
	m := newMachine(t, client.SocketVariable+"="+outer.sock)
	g := m.start()
	if got := g.say("http", "env "+client.SocketVariable).str("text"); got != g.sock {
		t.Errorf("claude has the socket %q, want %q", got, g.sock)
	}
	if log := m.log.String(); strings.Contains(log, "no such variable") {
		t.Errorf("the variable is not known:\n%s", log)
	}
}

func TestChannelCommands(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_HTTP_TOKEN=sesame")
	g := m.start()
	g.http.Transport = bearer{g.http.Transport, "sesame"}
	m.command(exitcode.OK, "channels").prints("").tells("no channel yet")
	m.command(exitcode.Failed, "send", hostile, "echo hi").prints("").tells("U+202E")
	g.signal(syscall.SIGTERM)
	m.seedChannels(hostile)
	g = m.start()
	g.http.Transport = bearer{g.http.Transport, "sesame"}
	m.command(exitcode.OK, "send", hostile, "echo hi").prints("hi\n")
	m.command(exitcode.OK, "send", "desk", "echo hi").prints("hi\n")
	m.command(exitcode.OK, "channels").shows("CHANNEL", "evil\uFFFD]/name %s", "desk", "ready")
	all := m.command(exitcode.OK, "channels", "--json").document().array("channels")
	if len(all) != 2 || all[1].str("channel") != hostile {
		t.Errorf("channels are %v", all)
	}
	session := m.command(exitcode.OK, "channels", "show", hostile, "--json").document().str("session_id")
	m.command(exitcode.OK, "channels", "show", hostile).shows(session, "evil\uFFFD]")
	m.command(exitcode.OK, "channels", "set", "desk", "--model", "haiku", "--permission-mode", "plan").shows("Set")
	m.command(exitcode.OK, "channels", "show", "desk").shows("haiku", "plan")
	m.command(exitcode.OK, "channels", "set", "desk", "--model", "").shows("Set")
	if a := m.command(exitcode.OK, "channels", "show", "desk", "--json").document(); a.json["model"] != nil || a.str("permission_mode") != "plan" {
		t.Errorf("the channel is %s", a.body)
	}
	m.command(exitcode.Usage, "channels", "set", "desk").tells("--model")
	m.command(exitcode.Failed, "channels", "interrupt", "desk").tells("nothing to interrupt")
	id, _ := g.occupy("desk")
	m.command(exitcode.OK, "channels", "interrupt", "desk").shows("The turn has ended, with 1 message")
	if a := g.outcome(id); a.str("state") != "cancelled" {
		t.Errorf("the interrupted turn is %s", a.body)
	}
	m.command(exitcode.OK, "channels", "rules", "desk").prints("").tells("no rules")
	m.command(exitcode.OK, "channels", "reset", hostile).shows("forgotten")
	if now := m.command(exitcode.OK, "channels", "show", hostile, "--json").document().str("session_id"); now == session {
		t.Error("the session is not forgotten")
	}
	m.command(exitcode.Failed, "channels", "show", "nobody")
	m.command(exitcode.OK, "messages", "desk").shows(id, "cancelled", "answered")
	if list := m.command(exitcode.OK, "messages", "desk", "--json").document().array("messages"); len(list) != 2 {
		t.Errorf("messages are %v", list)
	}
}

// bearer adds a token to requests.
type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(r)
}

func TestMessageCommands(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	_, finish := g.occupy("desk")
	waiting := g.tell("desk", "echo never")
	g.queued("desk", 1)
	m.command(exitcode.OK, "trace", waiting).shows("waiting", "queued")
	m.command(exitcode.OK, "cancel", waiting).shows("Cancelled " + waiting)
	m.command(exitcode.Failed, "cancel", waiting).tells("`bareclaw channels interrupt`")
	sent := m.invoke(nil, "send", "desk", "echo not this either")
	g.queued("desk", 1)
	sends := g.must("GET", "/channels/desk/messages", nil, 200).array("messages")[0].str("message_id")
	m.command(exitcode.OK, "cancel", sends)
	sent.wait(exitcode.Failed).prints("").tells("bareclaw: Cancelled before it was begun.\n")
	finish()
	m.command(exitcode.OK, "retry", waiting).prints("never\n")
	m.command(exitcode.OK, "trace", waiting[:30]).shows(waiting)
	m.command(exitcode.Failed, "trace", waiting[:3]).tells("have an id that begins with")
	m.command(exitcode.OK, "channels", "set", "elsewhere", "--model", "haiku")
	m.command(exitcode.OK, "messages", "elsewhere").prints("").tells("No message yet")
}

func TestApprovalCommands(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_APPROVALS=ask")
	g := m.start()
	m.command(exitcode.OK, "approvals").prints("").tells("Nothing waits")
	long := strings.Repeat(" and so on", 60)
	decide := func(args ...string) {
		t.Helper()
		i := m.invoke(nil, "send", "ops", "tool 0 ask ls \u202e2J"+long+"the end")
		var id string
		m.eventually("permission is asked", func() bool {
			pending := g.must("GET", "/approvals", nil, 200).array("approvals")
			if len(pending) == 1 {
				id = pending[0].str("id")
			}
			return id != ""
		})
		m.command(exitcode.OK, "approvals").shows(id[:8], "ops", "Bash: ask ls")
		m.command(exitcode.OK, "approvals", "show", id[:8]).shows("approval  "+id, "Allow Bash?\n  ask ls \uFFFD2J"+long+"the end\n")
		if got := m.command(exitcode.OK, "approvals", "show", id, "--json").document().str("id"); got != id {
			t.Errorf("shown is %q, want %q", got, id)
		}
		m.command(exitcode.Failed, "approvals", "show", "none").tells("no approval whose id begins with none")
		m.command(exitcode.OK, "status").shows("Waits for a decision", id[:8], "1 approval to decide")
		m.command(exitcode.OK, append([]string{"approvals", args[0], id[:8]}, args[1:]...)...).shows("Bash: ask ls")
		i.ends(exitcode.OK)
	}
	decide("deny", "--message", "not now")
	decide("allow")
	decide("allow", "--always")
	rules := m.command(exitcode.OK, "channels", "rules", "ops", "--json").document().array("rules")
	if len(rules) != 1 {
		t.Fatalf("rules are %v", rules)
	}
	id := rules[0].str("id")
	m.command(exitcode.OK, "channels", "rules", "ops").shows(id[:8])
	m.command(exitcode.OK, "channels", "rules", "ops", "--remove", id[:8]).shows("Removed")
	m.command(exitcode.Failed, "channels", "rules", "ops", "--remove", id[:8])
}

func TestStatusIsOneScreen(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_DAILY_BUDGET_USD=5")
	m.command(exitcode.Unreachable, "status").prints("").tells("No gateway has run here yet", "bareclaw init", "bareclaw serve")
	g := m.start()
	m.command(exitcode.OK, "status").shows("No channel yet")
	g.signal(syscall.SIGTERM)
	for i := range 12 {
		m.seedChannels("long-" + strings.Repeat("name", 20) + hostile + strings.Repeat("x", i))
	}
	g = m.start()
	_, finish := g.occupy("desk")
	i := m.command(exitcode.OK, "status").shows("gateway", "version", "address", g.base, "of $5.00", "desk", "running", "13 accepted")
	for line := range strings.Lines(i.out.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	m.command(exitcode.OK, "channels").shows("long-" + strings.Repeat("name", 20)) // a list in a pipe is for programs: it has all
	doc := m.command(exitcode.OK, "status", "--json").document()
	health, _ := doc.json["health"].(map[string]any)
	if !doc.flag("running") || health["status"] != "ok" || len(doc.array("channels")) != 13 {
		t.Errorf("the status is %.300s", doc.body)
	}
	finish()
	g.kill()
	m.command(exitcode.Unreachable, "status").prints("").tells("crashed or was killed", m.path("state"))
	if last, _ := m.command(exitcode.Unreachable, "status", "--json").document().json["last"].(map[string]any); last["crashed"] != true {
		t.Errorf("the last gateway is %v", last)
	}
	m.start().signal(syscall.SIGTERM)
	m.command(exitcode.Unreachable, "status").tells("ended as it was told to")
	for _, args := range [][]string{{"send", "desk", "hello"}, {"channels"}, {"approvals"}, {"restart"}, {"trace", "x"}} {
		m.command(exitcode.Unreachable, args...).prints("").tells("cannot be reached", "Is it running?")
	}
	h := m.lockFile()
	if proc.Alive(h.PID, h.Start) {
		t.Error("the gateway is there")
	}
}

func TestRestartSaysWhyItFailed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	if err := os.WriteFile(m.path("work/.env"), []byte("BARECLAW_QUEUE_LIMIT=none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := g.generation()
	in := *m
	in.env = append(slices.Clone(m.env), client.SocketVariable+"="+g.sock) // as from within a session, whose directory is another
	in.command(exitcode.Failed, "restart").prints("").tells("BARECLAW_QUEUE_LIMIT")
	m.command(exitcode.Usage, "status").tells("BARECLAW_QUEUE_LIMIT")
	if g.generation() != before {
		t.Error("it was restarted")
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.command(exitcode.Failed, "logs").tells("no log yet")
	g := m.start()
	path := m.path("state/bareclaw.log")
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("the log is %v, %v", st, err)
	}
	const seen = `"msg":"heartbeat not installed"` // the last that a process says by itself
	m.eventually("it has said all", func() bool { return strings.Contains(m.log.String(), seen) })
	m.command(exitcode.OK, "logs").shows(`"ready"`, g.base)
	m.command(exitcode.OK, "logs", "-n", "0").prints("")
	m.command(exitcode.Usage, "logs", "-n", "-1")
	g.must("POST", "/restart", nil, 200)
	m.eventually("both processes have written", func() bool {
		said := m.command(exitcode.OK, "logs").out.String()
		return strings.Count(said, `"ready"`) == 2 && strings.Count(said, seen) == 2 && strings.Contains(said, "handed over")
	})
	m.command(exitcode.OK, "logs").shows("handed over", "new process is ready")
	if got, want := m.command(exitcode.OK, "logs", "-n", "1").out.String(), 1; strings.Count(got, "\n") != want {
		t.Errorf("logs -n 1 prints %q", got)
	}
	i := m.invoke(nil, "logs", "-f")
	m.eventually("the log is followed", func() bool { return strings.Contains(i.out.String(), "ready") })
	l, err := logfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(line string) {
		_, _ = l.Write([]byte(line + "\n"))
		m.eventually("the line is shown", func() bool { return strings.Contains(i.out.String(), "\n"+term.Safe(line)+"\n") })
	}
	write("before it is rotated \x1b[31m")
	_, _ = l.Write(bytes.Repeat([]byte("x\n"), logfile.MaxBytes/2)) // the next line is one of a new file
	write("after it was rotated")
	if _, err := os.Stat(logfile.Old(path, 1)); err != nil {
		t.Errorf("the log was not rotated: %v", err)
	}
	if err := i.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	i.wait(exitcode.Interrupted)
	m.command(exitcode.OK, "logs", "-n", "3").prints("x\nx\nafter it was rotated\n")
}

func TestLogFileElsewhereOrNowhere(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, "BARECLAW_LOG_FILE="+m.path("logs/claw.log"))
	m.start().signal(syscall.SIGTERM)
	m.command(exitcode.OK, "logs").shows(`"ready"`, `"leaving"`)
	m.env = append(m.env, "BARECLAW_LOG_FILE=off")
	m.start().signal(syscall.SIGTERM)
	m.command(exitcode.Failed, "logs").tells("BARECLAW_LOG_FILE")
	if files := m.glob("state/bareclaw.log*"); len(files) != 0 {
		t.Errorf("logs in the state directory: %v", files)
	}
	m.env = append(m.env, "BARECLAW_LOG_FILE="+m.path("work/.."+"/state/daemon.lock/claw.log"))
	m.start().say("http", "echo all the same").want(t, "all the same")
	if !strings.Contains(m.log.String(), "not kept in a file") {
		t.Error("nobody is told that there is no log file")
	}
}
