package doctor

import (
	"bytes"
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
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"bareclaw/core"
	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/getclaude"
	"bareclaw/internal/term"
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
	if !r.Turn || r.Offline || err != nil || r.cfg.Claude.Agent == config.AgentEcho {
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
	limit := time.Duration(r.cfg.Turns.StartTimeout)
	if limit <= 0 {
		limit = startBound
	}
	start := time.AfterFunc(limit, func() { cancel(errStart) })
	defer start.Stop()
	t := &turn{report: r, id: uuid.NewString(), began: time.Now(), ready: func() { start.Stop() }}
	if ended, exit := t.run(ctx, cancel, path, dir); ended {
		t.unanswered(ctx, exit)
	}
}

// A turn is one message to a separate claude, with the answer.
type turn struct {
	*report
	id     string // id of the message
	began  time.Time
	ready  func() // called when claude has got ready
	in     io.Writer
	stderr bytes.Buffer
	init   claude.Init
	retry  claude.APIRetry // the last retry
}

// run exchanges lines with a claude until a finding, or returns how claude ended before. The
// command line is that of the gateway's sessions, without persistence, tools and most of the
// prompt, which would cost money.
func (t *turn) run(ctx context.Context, cancel context.CancelCauseFunc, path, dir string) (ended bool, exit error) {
	launch := claude.Launch{SessionID: uuid.NewString(), MaxTurns: 1, Model: string(t.cfg.Claude.Model), PermissionMode: string(t.cfg.Claude.PermissionMode)}
	cmd := exec.CommandContext(ctx, path, append(launch.Args(),
		"--tools", "", "--strict-mcp-config", "--no-session-persistence", "--system-prompt", "Answer with the word OK.")...)
	ownGroup(cmd)
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.WaitDelay = dir, t.claudeEnviron(), &t.stderr, time.Second
	const retries = "CLAUDE_CODE_MAX_RETRIES"
	if service.Lookup(cmd.Env, retries) == "" {
		cmd.Env = append(cmd.Env, retries+"=2") // by default claude retries for minutes
	}
	in, err := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if err = errors.Join(err, errOut); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return true, err
	}
	stop := context.AfterFunc(ctx, func() { _ = out.Close() }) // a process outside the group may hold the pipe open
	defer stop()
	t.in = in
	t.send(claude.InitializeLine(initID, false))
	for lines := claude.NewReader(out, 0); len(t.found) == 0; {
		line, err := lines.Next()
		if err != nil {
			_ = in.Close()
			return true, cmd.Wait()
		}
		if ev, err := claude.Decode(line.Bytes); err == nil {
			t.hear(ev)
		}
	}
	cancel(nil) // the finding is complete: no need to wait for claude's own exit
	_ = cmd.Wait()
	return false, nil
}

func (t *turn) hear(ev claude.Event) {
	switch {
	case ev.Type == claude.TypeControlResponse:
		switch id, refused := ev.ControlResponse(); {
		case id != initID:
		case refused != "":
			t.misunderstood("claude refused to get ready: " + refused)
		default:
			t.ready()
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

func (t *turn) ask() {
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
	t.problem("not_logged_in", term.SafeSentence("Claude is not logged in: "+strings.TrimRight(shorten(how), ".")), "No message is answered until there is a login.", t.loginAdvice())
}

func (t *turn) unanswered(ctx context.Context, exit error) {
	const why = "No message is answered."
	switch {
	case errors.Is(context.Cause(ctx), errStart):
		t.problem("claude_hangs", "claude did not get ready in time (BARECLAW_START_TIMEOUT)."+t.says(), why, sayOK)
	case ctx.Err() != nil && t.retry.Attempt > 0:
		t.problem("api_unreachable", fmt.Sprintf("claude does not reach its API: it has tried %d times (%s).", t.retry.Attempt, t.retry.Reason),
			why, "check the network and, if one is needed, HTTPS_PROXY in the gateway's environment")
	case ctx.Err() != nil:
		t.problem("turn_hangs", fmt.Sprintf("claude took the message and did not answer within %v.", turnBound), why, sayOK)
	default:
		how := "it ended by itself"
		if exit != nil {
			how = exit.Error()
		}
		t.problem("claude_fails", "claude did not answer: "+how+"."+t.says(), "Every session ends in this way.", sayOK)
	}
}

func (t *turn) misunderstood(how string) {
	t.problem("protocol_changed", "This program and claude "+t.init.Version+" do not understand each other: "+shorten(how)+".",
		"Messages would fail, or their answers be lost.", "upgrade this program, or install claude "+claude.TestedTo+": "+getclaude.AdviceFor(claude.TestedTo))
}

// says returns what claude printed on standard error, as the end of a sentence.
func (t *turn) says() string {
	if t.stderr.Len() == 0 {
		return ""
	}
	return " It says: " + shorten(t.stderr.String())
}

// ownGroup runs a command in a new process group and kills the group when the context
// ends.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
