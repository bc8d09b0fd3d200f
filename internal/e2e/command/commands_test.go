package command

import (
	"bytes"
	"errors"
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
	"bareclaw/core/ledger/sqlite"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/logfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/shortid"
	"bareclaw/internal/term"
	"bareclaw/internal/testkit/check"
)

// hostile is a channel whose name gives commands to a terminal that shows it. A gateway
// refuses a new channel of that name, but an older one may have left it.
const hostile = "evil\u202e]/name %s"

// seedChannels writes a cancelled message of each channel into the ledger, as an older
// gateway may have left it. No daemon runs.
func seedChannels(m *harness.Machine, keys ...string) {
	m.T.Helper()
	l, err := sqlite.Open(m.Path("state/ledger.db"), slog.New(slog.DiscardHandler))
	check.OK(m.T, err)
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
	check.OK(m.T, errors.Join(<-written, l.Close()))
}

func TestSendPrintsTheAnswerAlone(t *testing.T) {
	m, g := harness.Started(t, "EVIL=\x1b]0;owned\x07 \u009b31m \u202e")
	m.Invoke(nil, "send", "desk", "env EVIL").Ends(exitcode.OK).Prints("\x1b]0;owned\x07 \u009b31m \u202e\n") // to a pipe as it is
	if a := m.Command(exitcode.OK, "send", "desk", "env EVIL", "--json").Document(); a.Str("text") != "\x1b]0;owned\x07 \u009b31m \u202e" {
		t.Errorf("the outcome is %s", a.Body)
	}
	m.Command(exitcode.OK, "send", "desk", "echo", "two words").Prints("two words\n")
	m.Invoke(strings.NewReader("echo from the input\n"), "send", "desk", "-").Wait(exitcode.OK).Prints("from the input\n")
	m.Command(exitcode.OK, "send", "desk", "- a list\n- of two").Prints("ok: - a list\n- of two\n")
	a := m.Command(exitcode.OK, "send", "desk", "echo data", "--json").Document()
	a.Want(t, "data")
	if a.Str("channel") != "desk" || a.Str("state") != "answered" {
		t.Errorf("the outcome is %s", a.Body)
	}
	m.Command(exitcode.Failed, "send", "desk", "notloggedin").Prints("").Tells("bareclaw: ")
	failed := m.Command(exitcode.Failed, "send", "other", "apierror 500", "--json").Document()
	if !failed.Flag("is_error") {
		t.Errorf("the outcome is %s", failed.Body)
	}
	id := strings.TrimSpace(m.Command(exitcode.OK, "send", "third", "echo later", "--async").Out.String())
	g.Outcome(id).Want(t, "later")
	accepted := m.Command(exitcode.OK, "send", "third", "echo later", "--async", "--json", "--idempotency-key", "k1").Document()
	again := m.Command(exitcode.OK, "send", "third", "echo later", "--json", "--idempotency-key", "k1").Document()
	if again.Str("message_id") != accepted.Str("message_id") {
		t.Errorf("the same key made another message: %s, %s", accepted.Body, again.Body)
	}
}

func TestSendRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Start()
	m.Command(exitcode.Usage, "send").Tells("channel", "Try: bareclaw send --help")
	m.Command(exitcode.Usage, "send", "desk").Tells("send what?")
	m.Command(exitcode.Usage, "send", "desk", "x", "--mode", "shout").Tells("collect")
	m.Command(exitcode.Usage, "send", "desk", "x", "--push", "--async").Tells("--push")
	m.Command(exitcode.Usage, "send", "desk", "x", "--push", "--ask")
	m.Command(exitcode.Usage, "sned", "desk", "x").Tells(`there is no command sned; did you mean "send"?`, "Try: bareclaw --help")
	m.Command(exitcode.Usage, "channels", "shwo").Tells("there is no command shwo", "Try: bareclaw channels --help")
	m.Command(exitcode.Usage, "channels", "list", "desk").Tells("unexpected argument desk", "Try: bareclaw channels list --help")
	m.Command(exitcode.Usage, "serve", "desk").Tells("unexpected argument desk", "Try: bareclaw serve --help")
	m.Command(exitcode.Usage, "schedule", "add", "desk", "tea").Tells("--at", "--in", "--every", "--cron")
	for _, budget := range []string{"NaN", "-1", "Inf"} {
		m.Command(exitcode.Usage, "schedule", "add", "desk", "tea", "--in", "5m", "--budget="+budget).Tells("budget")
	}
	m.Command(exitcode.Usage, "send", "desk", " ").Tells("not blank")
	m.Command(exitcode.Failed, "send", "desk", "x", "--push").Tells("bareclaw: nobody is behind this channel")
	m.Command(exitcode.Failed, "trace", "00000000-0000-0000-0000-000000000000")
	m.Command(exitcode.Failed, "trace", "00000000").Tells("no message")
	m.Command(exitcode.Usage, "trace", "").Tells("which message?")
	m.Command(exitcode.Failed, "channels", "show", "elsewhere").Tells("`bareclaw channels` lists")
	m.Env = append(m.Env, "BARECLAW_PORT=http")
	m.Command(exitcode.Usage, "channels").Tells("BARECLAW_PORT")
}

func TestSendIsAnsweredTogetherWithALaterMessage(t *testing.T) {
	m, g := harness.Started(t)
	_, finish := g.Occupy("desk")
	first := m.Invoke(nil, "send", "desk", "first")
	g.Queued("desk", 1)
	g.Tell("desk", "and a second")
	finish()
	first.Wait(exitcode.OK).Prints("ok: first\n\nand a second\n").Tells("together with a later message")
}

// TestSendOutlivesTheGateway: a send goes on waiting while the gateway is restarted, or dies
// and is started again.
func TestSendOutlivesTheGateway(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(m *harness.Machine, g *harness.Gateway) *harness.Gateway{
		"restart": func(m *harness.Machine, g *harness.Gateway) *harness.Gateway {
			restarted := m.Command(exitcode.OK, "restart", "--json").Document()
			before, after := restarted.JSON["before"].(map[string]any), restarted.JSON["after"].(map[string]any)
			if before["pid"] == after["pid"] || after["generation"].(float64) <= before["generation"].(float64) {
				m.T.Errorf("restart says %s", restarted.Body)
			}
			m.Command(exitcode.OK, "restart").Shows("Restarted in ")
			return g
		},
		"death": func(m *harness.Machine, g *harness.Gateway) *harness.Gateway {
			g.Kill()
			return m.Start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, g := harness.Started(t)
			i := m.Invoke(nil, "send", "desk", "wait "+m.Path("go"))
			m.Begins("wait")
			g = replace(m, g)
			m.Touch("go")
			i.Wait(exitcode.OK).Prints("waited for " + m.Path("go") + "\n")
			if n := g.Balanced(); n != 1 {
				t.Errorf("%d messages, want 1", n)
			}
		})
	}
}

func TestInterruptedSendSaysThatTheMessageGoesOn(t *testing.T) {
	m, g := harness.Started(t)
	// On a terminal, standard error shows when the command has learned the message's id.
	cmd := exec.Command("sh", "-c", `exec "$0" send desk "$1" >"$2"`, m.Executable(), "wait "+m.Path("go"), m.Path("printed"))
	cmd.Dir, cmd.Env = m.Path("work"), append(slices.Clone(m.Env), "TERM=xterm-256color")
	term := m.Displayed(cmd)
	m.Eventually("the turn is shown", func() bool { return strings.Contains(term.Written(), "  Working") })
	check.OK(t, cmd.Process.Signal(os.Interrupt))
	told := regexp.MustCompile(`goes on.*bareclaw trace (\S+)`).FindStringSubmatch(term.Exits(exitcode.Interrupted))
	if told == nil {
		t.Fatalf("it tells %q", term.Written())
	}
	id := told[1]
	wantFile(m, "printed", "")
	for limit := 50 * time.Millisecond; ; limit *= 2 { // in which it may not be heard that the message is accepted
		i := m.Command(exitcode.Failed, "send", "desk", "echo more", "--idempotency-key", "k", "--timeout", limit.String()).Prints("")
		if i.Tells("no answer within " + limit.String()); strings.Contains(i.Err.String(), "bareclaw trace ") || limit > harness.Patience {
			i.Tells("bareclaw trace ")
			break
		}
	}
	m.Touch("go")
	g.Outcome(id).Want(t, "waited for "+m.Path("go"))
	m.Command(exitcode.OK, "trace", id).Shows("waited for "+m.Path("go"), "received", "answered", "desk")
	trace := m.Command(exitcode.OK, "trace", id, "--json").Document()
	if _, ok := trace.JSON["timeline"].([]any); !ok {
		t.Errorf("the trace is %s", trace.Body)
	}
}

// TestSendInsideASession runs commands as claude's Bash does: there the gateway is known
// by its socket alone, and nothing waits for itself.
func TestSendInsideASession(t *testing.T) {
	m, g := harness.Started(t)
	if got := g.Say("desk", "env "+client.SocketVariable).Str("text"); got != g.Sock {
		t.Fatalf("claude has the socket %q, want %q", got, g.Sock)
	}
	marker := g.Say("desk", "env BARECLAW_SESSION").Str("text")
	in := *m
	in.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.Path("home"), client.SocketVariable + "=" + g.Sock, "BARECLAW_SESSION=" + marker}
	in.Command(exitcode.Failed, "send", "desk", "hello").Tells("nobody is behind this channel", "--ask")
	in.Command(exitcode.Failed, "send", "desk", "hello", "--ask").Tells("session of desk itself")
	in.Command(exitcode.OK, "send", "other", "echo hello", "--ask").Prints("hello\n")
	in.Command(exitcode.Usage, "send", "desk", "hello", "--async").Tells("--ask")
	id := strings.TrimSpace(in.Command(exitcode.OK, "send", "desk", "echo later", "--ask", "--async").Out.String())
	g.Outcome(id).Want(t, "later")
	in.Command(exitcode.Failed, "channels", "set", "desk", "--model", "x").Tells("in a terminal of your own")
	in.Command(exitcode.Failed, "schedule", "add", "desk", "x", "--in", "1h", "--precheck", "true").Tells("made by people")
	in.Command(exitcode.OK, "schedule", "add", "desk", "x", "--in", "1h").Shows("on desk")
	in.Command(exitcode.Failed, "approvals", "allow", "x").Tells("in a terminal of your own")
	in.Command(exitcode.Failed, "channels", "reset", "desk").Tells("session of desk itself")
	in.Command(exitcode.OK, "status").Shows("desk")
	in.Command(exitcode.OK, "restart").Shows("Restarted in ")
	if m.Hosts()["desk"].PID == 0 {
		t.Error("the session has ended")
	}
}

// TestServeInsideASessionIsAGatewayOfItsOwn starts one where the socket of another is
// in the environment.
func TestServeInsideASessionIsAGatewayOfItsOwn(t *testing.T) {
	t.Parallel()
	outer := harness.NewMachine(t).Start()
	m := harness.NewMachine(t, client.SocketVariable+"="+outer.Sock)
	g := m.Start()
	if got := g.Say("http", "env "+client.SocketVariable).Str("text"); got != g.Sock {
		t.Errorf("claude has the socket %q, want %q", got, g.Sock)
	}
	if log := m.Log.String(); strings.Contains(log, "no such variable") {
		t.Errorf("the variable is not known:\n%s", log)
	}
}

func TestChannelCommands(t *testing.T) {
	m, g := harness.Started(t, "BARECLAW_HTTP_TOKEN=sesame")
	g.HTTP.Transport = bearer{g.HTTP.Transport, "sesame"}
	m.Command(exitcode.OK, "channels").Prints("").Tells("no channel yet")
	m.Command(exitcode.Usage, "send", hostile, "echo hi").Prints("").Tells("U+202E")
	g.Signal(syscall.SIGTERM)
	seedChannels(m, hostile)
	g = m.Start()
	g.HTTP.Transport = bearer{g.HTTP.Transport, "sesame"}
	m.Command(exitcode.OK, "send", hostile, "echo hi").Prints("hi\n")
	m.Command(exitcode.OK, "send", "desk", "echo hi").Prints("hi\n")
	m.Command(exitcode.OK, "channels").Shows("CHANNEL", "evil\uFFFD]/name %s", "desk", "ready")
	all := m.Command(exitcode.OK, "channels", "--json").Document().Array("channels")
	if len(all) != 2 || all[1].Str("channel") != hostile {
		t.Errorf("channels are %v", all)
	}
	session := m.Command(exitcode.OK, "channels", "show", hostile, "--json").Document().Str("session_id")
	m.Command(exitcode.OK, "channels", "show", hostile).Shows(session, "evil\uFFFD]")
	m.Command(exitcode.OK, "channels", "set", "desk", "--model", "haiku", "--permission-mode", "plan").Shows("Set")
	m.Command(exitcode.OK, "channels", "show", "desk").Shows("haiku", "plan")
	m.Command(exitcode.OK, "channels", "set", "desk", "--model", "").Shows("Set")
	if a := m.Command(exitcode.OK, "channels", "show", "desk", "--json").Document(); a.JSON["model"] != nil || a.Str("permission_mode") != "plan" {
		t.Errorf("the channel is %s", a.Body)
	}
	m.Command(exitcode.Usage, "channels", "set", "desk").Tells("--model")
	m.Command(exitcode.Failed, "channels", "interrupt", "desk").Tells("nothing to interrupt")
	id, _ := g.Occupy("desk")
	m.Command(exitcode.OK, "channels", "interrupt", "desk").Shows("The turn has ended, with 1 message")
	if a := g.Outcome(id); a.Str("state") != "cancelled" {
		t.Errorf("the interrupted turn is %s", a.Body)
	}
	m.Command(exitcode.OK, "channels", "rules", "desk").Prints("").Tells("no rules")
	m.Command(exitcode.OK, "channels", "reset", hostile).Shows("forgotten")
	if now := m.Command(exitcode.OK, "channels", "show", hostile, "--json").Document().Str("session_id"); now == session {
		t.Error("the session is not forgotten")
	}
	m.Command(exitcode.Failed, "channels", "show", "nobody")
	m.Command(exitcode.OK, "messages", "desk").Shows("ANSWER", shortid.Of(id), "cancelled", "answered")
	if list := m.Command(exitcode.OK, "messages", "desk", "--json").Document().Array("messages"); len(list) != 2 {
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
	m, g := harness.Started(t)
	_, finish := g.Occupy("desk")
	waiting := g.Tell("desk", "echo never")
	g.Queued("desk", 1)
	m.Command(exitcode.OK, "trace", waiting).Shows("waiting", "queued")
	m.Command(exitcode.OK, "cancel", waiting).Shows("Cancelled " + waiting)
	m.Command(exitcode.Failed, "cancel", waiting).Tells("`bareclaw channels interrupt`")
	sent := m.Invoke(nil, "send", "desk", "echo not this either")
	g.Queued("desk", 1)
	sends := g.Must("GET", "/channels/desk/messages", nil, 200).Array("messages")[0].Str("message_id")
	m.Command(exitcode.OK, "cancel", sends)
	sent.Wait(exitcode.Failed).Prints("").Tells("bareclaw: Cancelled before it was begun.\n")
	finish()
	m.Command(exitcode.OK, "retry", waiting).Prints("never\n")
	m.Command(exitcode.OK, "trace", waiting[:30]).Shows(waiting)
	m.Command(exitcode.OK, "trace", shortid.Of(waiting)).Shows(waiting)
	m.Command(exitcode.Failed, "trace", waiting[:3]).Tells("have an id that begins or ends with")
	m.Command(exitcode.OK, "send", "later", "echo newest").Prints("newest\n")
	m.Command(exitcode.OK, "trace").Shows("later", "newest")
	m.Command(exitcode.OK, "trace", "desk").Shows("never")
	m.Command(exitcode.Failed, "trace", "nonsense").Tells("there is no message with this id")
	m.Command(exitcode.OK, "channels", "set", "elsewhere", "--model", "haiku")
	m.Command(exitcode.OK, "messages", "elsewhere").Prints("").Tells("No message yet")
}

func TestApprovalCommands(t *testing.T) {
	m, g := harness.Started(t, "BARECLAW_APPROVALS=ask")
	m.Command(exitcode.OK, "approvals").Prints("").Tells("Nothing waits")
	long := strings.Repeat(" and so on", 60)
	decide := func(args ...string) {
		t.Helper()
		i := m.Invoke(nil, "send", "ops", "tool 0 ask ls \u202e2J"+long+"the end")
		var id string
		m.Eventually("permission is asked", func() bool {
			pending := g.Must("GET", "/approvals", nil, 200).Array("approvals")
			if len(pending) == 1 {
				id = pending[0].Str("id")
			}
			return id != ""
		})
		m.Command(exitcode.OK, "approvals").Shows(shortid.Of(id), "ops", "Bash: ask ls")
		m.Command(exitcode.OK, "approvals", "show", shortid.Of(id)).Shows("approval  "+id, `  ask ls \u{202E}2J`+long+"the end\n  description: scripted call\n")
		if got := m.Command(exitcode.OK, "approvals", "show", id, "--json").Document().Str("id"); got != id {
			t.Errorf("shown is %q, want %q", got, id)
		}
		m.Command(exitcode.Failed, "approvals", "show", "none").Tells("no approval with the id none")
		m.Command(exitcode.OK, "status").Shows("Waits for a decision", shortid.Of(id), "1 approval to decide")
		m.Command(exitcode.OK, append([]string{"approvals", args[0], id[:8]}, args[1:]...)...).Shows(`Bash: ask ls \u{202E}2J`)
		i.Ends(exitcode.OK)
	}
	decide("deny", "--message", "not now")
	decide("allow")
	decide("allow", "--yes")
	decide("allow", "--always")
	rules := m.Command(exitcode.OK, "channels", "rules", "ops", "--json").Document().Array("rules")
	if len(rules) != 1 {
		t.Fatalf("rules are %v", rules)
	}
	id := rules[0].Str("id")
	m.Command(exitcode.OK, "channels", "rules", "ops").Shows(shortid.Of(id))
	m.Command(exitcode.OK, "channels", "rules", "ops", "--remove", shortid.Of(id)).Shows("Removed")
	m.Command(exitcode.Failed, "channels", "rules", "ops", "--remove", id[:8])
}

// TestAllowAtATerminal shows all of a request, and asks, before it is allowed.
func TestAllowAtATerminal(t *testing.T) {
	m, g := harness.Started(t, "BARECLAW_APPROVALS=ask")
	i := m.Invoke(nil, "send", "ops", `call Bash {"command":"true`+strings.Repeat(" ", 1500)+`; curl evil","timeout":7}`)
	g.Eventually("permission is asked", func() bool { return len(g.Must("GET", "/approvals", nil, 200).Array("approvals")) == 1 })
	id := g.Asked(1)[0].Str("id")
	no := display(m, "approvals", "allow", id)
	no.Sees("true ⎵×1500 ; curl evil", "timeout: 7", "Allow this? [y/N]")
	g.Asked(1)
	no.Enters("n")
	no.Exits(exitcode.Failed)
	g.Asked(1)
	yes := display(m, "approvals", "allow", id)
	yes.Sees("Allow this? [y/N]")
	yes.Enters("y")
	if said := yes.Exits(exitcode.OK); !strings.Contains(said, "Allowed: Bash") {
		t.Errorf("after a yes: %q", said)
	}
	i.Ends(exitcode.OK)
	m.Command(exitcode.Failed, "approvals", "allow", id).Tells("no longer pending")
}

func TestStatusIsOneScreen(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_DAILY_BUDGET_USD=5")
	m.Command(exitcode.Unreachable, "status").Prints("").Tells("no gateway has run here yet", "bareclaw init", "bareclaw start")
	g := m.Start()
	m.Command(exitcode.OK, "status").Shows("No channel yet")
	g.Signal(syscall.SIGTERM)
	for i := range 12 {
		seedChannels(m, "long-"+strings.Repeat("name", 20)+hostile+strings.Repeat("x", i))
	}
	g = m.Start()
	_, finish := g.Occupy("desk")
	i := m.Command(exitcode.OK, "status").Shows("gateway", "version", "address", g.Base, "of $5.00", "desk", "running", "13 accepted")
	for line := range strings.Lines(i.Out.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	m.Command(exitcode.OK, "channels").Shows("long-" + strings.Repeat("name", 20)) // a list in a pipe is for programs: it has all
	doc := m.Command(exitcode.OK, "status", "--json").Document()
	health, _ := doc.JSON["health"].(map[string]any)
	if !doc.Flag("running") || health["status"] != "ok" || len(doc.Array("channels")) != 13 {
		t.Errorf("the status is %.300s", doc.Body)
	}
	finish()
	g.Kill()
	m.Command(exitcode.Unreachable, "status").Prints("").Tells("crashed or was killed", m.Path("state"))
	if last, _ := m.Command(exitcode.Unreachable, "status", "--json").Document().JSON["last"].(map[string]any); last["crashed"] != true {
		t.Errorf("the last gateway is %v", last)
	}
	m.Start().Signal(syscall.SIGTERM)
	m.Command(exitcode.Unreachable, "status").Tells("it ended normally at ")
	for _, args := range [][]string{{"send", "desk", "hello"}, {"channels"}, {"approvals"}, {"restart"}, {"trace", "x"}} {
		m.Command(exitcode.Unreachable, args...).Prints("").Tells("the gateway is not running: it ended normally at ", "Start it with `bareclaw start`")
	}
	h := m.LockFile()
	if proc.Alive(h.PID, h.Start) {
		t.Error("the gateway is there")
	}
}

func TestRestartSaysWhyItFailed(t *testing.T) {
	m, g := harness.Started(t)
	check.OK(t, os.WriteFile(m.Path("work/.env"), []byte("BARECLAW_QUEUE_LIMIT=none\n"), 0o600))
	before := g.Generation()
	in := *m
	in.Env = append(slices.Clone(m.Env), client.SocketVariable+"="+g.Sock) // as from within a session, whose directory is another
	in.Command(exitcode.Failed, "restart").Prints("").Tells("BARECLAW_QUEUE_LIMIT")
	m.Command(exitcode.Usage, "channels").Tells("BARECLAW_QUEUE_LIMIT")
	if g.Generation() != before {
		t.Error("it was restarted")
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Command(exitcode.Failed, "logs").Tells("no log yet")
	g := m.Start()
	path := m.Path("state/bareclaw.log")
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("the log is %v, %v", st, err)
	}
	const seen = `"msg":"heartbeat not installed"` // the last that a process says by itself
	m.Eventually("it has said all", func() bool { return strings.Contains(m.Log.String(), seen) })
	m.Command(exitcode.OK, "logs").Shows(`"ready"`, g.Base)
	m.Command(exitcode.OK, "logs", "-n", "0").Prints("")
	m.Command(exitcode.Usage, "logs", "-n", "-1")
	g.Must("POST", "/restart", nil, 200)
	m.Eventually("both processes have written", func() bool {
		said := m.Command(exitcode.OK, "logs").Out.String()
		return strings.Count(said, `"ready"`) == 2 && strings.Count(said, seen) == 2 && strings.Contains(said, "handed over")
	})
	m.Command(exitcode.OK, "logs").Shows("handing over", "handed over")
	if got, want := m.Command(exitcode.OK, "logs", "-n", "1").Out.String(), 1; strings.Count(got, "\n") != want {
		t.Errorf("logs -n 1 prints %q", got)
	}
	i := m.Invoke(nil, "logs", "-f")
	m.Eventually("the log is followed", func() bool { return strings.Contains(i.Out.String(), "ready") })
	l, err := logfile.Open(path, logfile.MaxBytes)
	check.OK(t, err)
	write := func(line string) {
		_, _ = l.Write([]byte(line + "\n"))
		m.Eventually("the line is shown", func() bool { return strings.Contains(i.Out.String(), "\n"+term.Safe(line)+"\n") })
	}
	write("before it is rotated \x1b[31m")
	_, _ = l.Write(bytes.Repeat([]byte("x\n"), logfile.MaxBytes/2)) // the next line is one of a new file
	write("after it was rotated")
	if _, err := os.Stat(logfile.Path(path, 1)); err != nil {
		t.Errorf("the log was not rotated: %v", err)
	}
	check.OK(t, i.Cmd.Process.Signal(os.Interrupt))
	i.Wait(exitcode.Interrupted)
	m.Command(exitcode.OK, "logs", "-n", "3").Prints("x\nx\nafter it was rotated\n")
}

func TestLogFileElsewhereOrNowhere(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Env = append(m.Env, "BARECLAW_LOG_FILE="+m.Path("logs/claw.log"))
	m.Start().Signal(syscall.SIGTERM)
	m.Command(exitcode.OK, "logs").Shows(`"ready"`, `"ended"`)
	m.Env = append(m.Env, "BARECLAW_LOG_FILE=off")
	m.Start().Signal(syscall.SIGTERM)
	m.Command(exitcode.Failed, "logs").Tells("BARECLAW_LOG_FILE")
	if files := m.Glob("state/bareclaw.log*"); len(files) != 0 {
		t.Errorf("logs in the state directory: %v", files)
	}
	m.Env = append(m.Env, "BARECLAW_LOG_FILE="+m.Path("work/.."+"/state/daemon.lock/claw.log"))
	m.Start().Say("http", "echo all the same").Want(t, "all the same")
	if !strings.Contains(m.Log.String(), "not kept in a file") {
		t.Error("nobody is told that there is no log file")
	}
}
