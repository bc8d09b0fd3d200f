package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/google/uuid"

	"bareclaw/core"
	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/sessionhost/claude"
)

const (
	turnBound = 90 * time.Second
	// startBound is the time limit for claude's start without a configured limit.
	startBound = time.Minute
	// initID is the id of the first request of the conversation.
	initID = "doctor"
	// sayOK is a command that shows the same problem.
	sayOK = "claude -p 'Say OK.'"
)

var errStart = errors.New("claude did not get ready")

// checkTurn requests one answer from claude, started with the gateway's options. The
// answer proves a valid login and a compatible protocol.
func checkTurn(ctx context.Context, r *report) {
	path, err := r.claude()
	if !r.Turn || r.Offline || err != nil || r.cfg.Agent == config.AgentEcho {
		return
	}
	dir, err := os.MkdirTemp("", "bareclaw-doctor-")
	if err != nil {
		r.problem("temp_unwritable", "A temporary directory cannot be made: "+err.Error()+".",
			"claude and its tools need one.", "set TMPDIR to a directory that can be written")
		return
	}
	defer func() { _ = os.RemoveAll(dir) }() // a remainder goes with the system's other temporary files
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := &turn{report: r, cancel: cancel, id: uuid.NewString(), began: time.Now()}
	t.run(ctx, path, dir)
}

// A turn is one message to a separate claude, with the answer.
type turn struct {
	*report
	cancel context.CancelCauseFunc
	id     string // id of the message
	began  time.Time
	in     io.WriteCloser
	stderr head
	start  *time.Timer // cancels the turn if claude does not get ready
	init   claude.Init
	retry  claude.APIRetry // the last retry
}

// args returns the command line of the gateway's sessions, without persistence, tools
// and most of the prompt, which would cost money.
func (t *turn) args() []string {
	launch := claude.Launch{
		SessionID: uuid.NewString(), MaxTurns: 1, Model: t.cfg.Model, PermissionMode: t.cfg.PermissionMode,
	}
	return append(launch.Args(), "--tools", "", "--strict-mcp-config", "--no-session-persistence", "--system-prompt", "Answer with the word OK.")
}

func (t *turn) run(ctx context.Context, path, dir string) {
	cmd := exec.CommandContext(ctx, path, t.args()...)
	ownGroup(cmd)
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.WaitDelay = dir, t.environ(), &t.stderr, time.Second
	in, err := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if err = errors.Join(err, errOut); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.broken(err)
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = out.Close() }) // a process outside the group may hold the pipe open
	defer stop()
	limit := t.cfg.StartTimeout
	if limit <= 0 {
		limit = startBound
	}
	t.in, t.start = in, time.AfterFunc(limit, func() { t.cancel(errStart) })
	defer t.start.Stop()
	if t.converse(out) {
		t.cancel(nil) // the finding is complete: no need to wait for claude's own exit
		_ = cmd.Wait()
		return
	}
	_ = in.Close()
	t.unanswered(ctx, cmd.Wait())
}

func (t *turn) environ() []string {
	environ := t.claudeEnviron()
	const retries = "CLAUDE_CODE_MAX_RETRIES"
	if service.Lookup(environ, retries) == "" {
		environ = append(environ, retries+"=2") // by default claude retries for minutes
	}
	return environ
}

// converse exchanges lines with claude until a finding, or the end of claude's output.
func (t *turn) converse(out io.Reader) (answered bool) {
	lines := claude.NewReader(out, 0)
	t.send(claude.InitializeLine(initID))
	for len(t.found) == 0 {
		line, err := lines.Next()
		if err != nil {
			return false
		}
		if ev, err := claude.Decode(line.Bytes); err == nil {
			t.hear(ev)
		}
	}
	return true
}

func (t *turn) hear(ev claude.Event) {
	switch {
	case ev.Type == claude.TypeControlResponse:
		switch id, refused := ev.ControlResponse(); {
		case id != initID:
		case refused != "":
			t.misunderstood("claude refused to get ready: " + refused)
		default:
			t.ask()
		}
	case ev.Type == claude.TypeSystem && ev.Subtype == "init":
		t.init = ev.Init()
	case ev.Type == claude.TypeSystem && ev.Subtype == "api_retry":
		t.retry = ev.APIRetry()
		if t.retry.Status == http.StatusUnauthorized { // claude would retry all the same
			t.notLoggedIn("the login was refused")
		}
	case ev.Type == claude.TypeResult:
		r := ev.Result()
		switch {
		case slices.Contains(r.Turns, core.TurnID(t.id)):
			t.judge(r)
		case !r.Background && len(r.Turns) == 0:
			t.misunderstood("claude ended a turn without naming the message that it answers")
		}
	}
}

// ask sends the message once claude is ready.
func (t *turn) ask() {
	t.start.Stop()
	line, err := claude.UserLine(t.id, json.RawMessage(`"Say OK."`))
	if err != nil {
		t.misunderstood(err.Error())
		return
	}
	t.send(line)
}

// send writes a line to claude. After a failed write, the end of claude explains the
// reason.
func (t *turn) send(line []byte) { _, _ = t.in.Write(line) }

func (t *turn) judge(r core.Result) {
	switch r.Code {
	case "":
		t.ok("claude answered in %v, with %s for $%.4f.",
			time.Since(t.began).Round(100*time.Millisecond), cmp.Or(t.init.Model, "a model that it does not name"), r.TotalCost)
	case core.CodeNotLoggedIn:
		t.notLoggedIn(cmp.Or(r.Text, "it does not say why"))
	case core.CodeUsageLimit, claude.CodeRateLimited, claude.CodeOverloaded:
		t.warning("limit_reached", "claude understands, but does not answer now: "+shorten(r.Error), "Messages wait until the limit ends.", "")
	case core.CodeBadModel:
		t.problem("model_refused", "claude refuses the model: "+shorten(r.Error), "Every message fails that is not on a channel with a model of its own.",
			"set BARECLAW_MODEL to a model that this login may use, or unset it")
	default:
		t.problem("turn_failed", "claude answered with an error ("+r.Code+"): "+shorten(r.Error), "Messages fail in the same way.", sayOK)
	}
}

func (t *turn) notLoggedIn(how string) {
	t.problem("not_logged_in", "claude is not logged in: "+shorten(how), "No message is answered; channels park until there is a login.", claude.LoginAdvice)
}

func (t *turn) unanswered(ctx context.Context, exit error) {
	const why = "No message is answered."
	switch {
	case errors.Is(context.Cause(ctx), errStart):
		t.problem("claude_hangs", "claude did not get ready in time (BARECLAW_START_TIMEOUT)."+t.stderr.words(), why, sayOK)
	case ctx.Err() != nil && t.retry.Attempt > 0:
		t.problem("api_unreachable", fmt.Sprintf("claude does not reach its API: it has tried %d times (%s).", t.retry.Attempt, t.retry.Reason),
			why, "check the network and, if one is needed, HTTPS_PROXY in the gateway's environment")
	case ctx.Err() != nil:
		t.problem("turn_hangs", fmt.Sprintf("claude took the message and did not answer within %v.", turnBound), why, sayOK)
	default:
		t.broken(exit)
	}
}

func (t *turn) broken(err error) {
	how := "it ended by itself"
	if err != nil {
		how = err.Error()
	}
	t.problem("claude_fails", "claude did not answer: "+how+"."+t.stderr.words(), "Every session ends in this way.", sayOK)
}

func (t *turn) misunderstood(how string) {
	t.problem("protocol_changed", "This program and claude "+t.init.Version+" do not understand each other: "+shorten(how)+".",
		"Messages would fail, or their answers be lost.", "upgrade this program, or install claude "+claude.TestedTo+": `npm install -g @anthropic-ai/claude-code@"+claude.TestedTo+"`")
}

// A head keeps the beginning of a stream.
type head struct{ b []byte }

func (h *head) Write(p []byte) (int, error) {
	const enough = 1000
	h.b = append(h.b, p[:min(len(p), enough-len(h.b))]...)
	return len(p), nil
}

// words returns the kept text as the end of a sentence.
func (h *head) words() string {
	if len(h.b) == 0 {
		return ""
	}
	return " It says: " + shorten(string(h.b))
}

// ownGroup runs a command in a new process group and kills the group when the context
// ends.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
