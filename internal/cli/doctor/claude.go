package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core/config"
	"bareclaw/heartbeat/program"
	"bareclaw/internal/humanize"
	"bareclaw/sessionhost/claude"
)

const (
	installClaude = "`npm install -g @anthropic-ai/claude-code`, then run `claude` once to log in"
	updateClaude  = "npm install -g @anthropic-ai/claude-code"
	// versionBound is the time limit for claude to print its version.
	versionBound = 10 * time.Second
)

func checkClaude(ctx context.Context, l *look) []Finding {
	if l.cfg.Agent == config.AgentEcho {
		return []Finding{note("agent_echo", "The echo agent answers: BARECLAW_AGENT=echo is set.",
			"It repeats what it is told; claude is not asked.", "set BARECLAW_AGENT=claude")}
	}
	if l.Report.Wrong("BARECLAW_CLAUDE") {
		return nil // checkConfiguration reports the wrong value
	}
	path, err := l.claude()
	if err != nil {
		return []Finding{missing(l.cfg, err)}
	}
	var found []Finding
	if h, err := l.health(); err == nil && h.Agent.Kind != "" && h.Agent.Path != path {
		found = append(found, warning("claude_other", fmt.Sprintf("The gateway that runs uses %s, and this finds %s.", describeAgent(h), path),
			"It was started with another PATH or BARECLAW_CLAUDE: what is said of claude here need not be true there.", "bareclaw restart"))
	}
	return append(found, checkVersion(ctx, l, path))
}

func describeAgent(h api.Health) string {
	if h.Agent.Path == "" {
		return "the " + h.Agent.Kind + " agent"
	}
	return h.Agent.Path
}

func missing(cfg config.Config, err error) Finding {
	if errors.Is(err, fs.ErrPermission) {
		command := "set BARECLAW_CLAUDE to the path of claude"
		if program.IsProgram(cfg.Claude) {
			command = "`chmod +x " + quote(cfg.Claude) + "`, or set BARECLAW_CLAUDE"
		}
		return problem("claude_not_executable", cfg.Claude+" is not executable.", "No message can be answered.", command)
	}
	why := "No message can be answered."
	if cfg.Agent == config.AgentAuto {
		why = "The echo agent answers in its place, which only repeats what it is told."
	}
	return problem("claude_missing", fmt.Sprintf("Claude Code was not found (looked for %q).", cfg.Claude), why,
		installClaude+"; or set BARECLAW_CLAUDE to its path")
}

// checkVersion compares the version of claude with the tested versions.
func checkVersion(ctx context.Context, l *look, path string) Finding {
	ctx, cancel := context.WithTimeout(ctx, versionBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env, cmd.WaitDelay = l.claudeEnviron(), time.Second
	ownGroup(cmd)
	out, err := cmd.Output()
	version := regexp.MustCompile(`\d+\.\d+\.\d+`).FindString(string(out[:min(len(out), 1000)]))
	switch {
	case ctx.Err() != nil:
		return problem("claude_hangs", fmt.Sprintf("%s --version did not answer within %v.", path, versionBound),
			"A claude that does not start answers nothing.", quote(path)+" --version")
	case err != nil || version == "":
		return problem("claude_broken", fmt.Sprintf("%s --version does not tell a version: %s", path, said(out, err)),
			"This is not Claude Code, or it cannot start on this machine.", updateClaude)
	case older(version, claude.TestedFrom):
		return warning("claude_old", fmt.Sprintf("%s is version %s; this program was tested from %s on.", path, version, claude.TestedFrom),
			"An older one may lack what the gateway relies on; the check “turn” shows whether it answers at all.", updateClaude)
	case older(claude.TestedTo, version):
		return note("claude_new", fmt.Sprintf("%s is version %s; this program was tested up to %s.", path, version, claude.TestedTo),
			"Usually that is fine; the check “turn” shows whether the two understand each other.", "")
	}
	return ok("%s is version %s, which is known to work.", path, version)
}

// said describes the failure of a program by its output.
func said(out []byte, err error) string {
	exit, isExit := errors.AsType[*exec.ExitError](err)
	switch {
	case isExit && len(exit.Stderr) > 0:
		return exit.String() + ": " + shorten(string(exit.Stderr))
	case err != nil:
		return err.Error()
	}
	return "it says " + strconv.Quote(shorten(string(out)))
}

// older reports whether version a precedes b. Both versions consist of three numbers.
func older(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range as {
		m, _ := strconv.Atoi(as[i])
		n, _ := strconv.Atoi(bs[i])
		if m != n {
			return m < n
		}
	}
	return false
}

// shorten keeps the beginning of another program's text.
func shorten(s string) string {
	return humanize.Shorten(strings.ToValidUTF8(strings.TrimSpace(s), "\uFFFD"), 300)
}
