package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/version"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"bareclaw/core/config"
	"bareclaw/heartbeat/program"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/getclaude"
	"bareclaw/internal/humanize"
	"bareclaw/sessionhost/claude"
)

const (
	installClaude = getclaude.Advice + "; then run `claude` once to log in"
	updateClaude  = "`claude update`, or install it anew: " + getclaude.Advice
	// versionBound is the time limit for claude to print its version.
	versionBound = 10 * time.Second
)

func checkClaude(ctx context.Context, r *report) {
	if r.cfg.Claude.Agent == config.AgentEcho {
		r.note("agent_echo", "The echo agent answers: BARECLAW_AGENT=echo is set.",
			"It repeats what it is told; claude is not asked.", "set BARECLAW_AGENT=claude")
		return
	}
	if r.Report.Wrong("BARECLAW_CLAUDE") {
		return // checkConfiguration reports the wrong value
	}
	path, err := r.claude()
	if err != nil {
		missing(r, err)
		return
	}
	if h, err := r.health(); err == nil && h.Agent.Kind != "" && h.Agent.Path != path {
		r.warning("claude_other", fmt.Sprintf("The running gateway uses %s, but this command finds %s.", cmp.Or(h.Agent.Path, "the "+h.Agent.Kind+" agent"), path),
			"It was started with another PATH or BARECLAW_CLAUDE: the findings about claude may not apply to the gateway.", "bareclaw restart")
	}
	checkVersion(ctx, r, path)
}

func missing(r *report, err error) {
	name := string(r.cfg.Claude.Command)
	if errors.Is(err, fs.ErrPermission) {
		command := "set BARECLAW_CLAUDE to the path of claude"
		if program.IsProgram(name) {
			command = "`chmod +x " + quote(name) + "`, or set BARECLAW_CLAUDE"
		}
		r.problem("claude_not_executable", name+" is not executable.", "No message can be answered.", command)
		return
	}
	why := "No message can be answered."
	if r.cfg.Claude.Agent == config.AgentAuto {
		why = "The echo agent answers in its place, which only repeats what it is told."
	}
	r.problem("claude_missing", fmt.Sprintf("Claude Code was not found (looked for %q).", name), why,
		installClaude+"; or set BARECLAW_CLAUDE to its path")
}

func checkVersion(ctx context.Context, r *report, path string) {
	ctx, cancel := context.WithTimeout(ctx, versionBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env, cmd.WaitDelay = r.claudeEnviron(), time.Second
	ownGroup(cmd)
	out, err := cmd.Output()
	found := versionIn(string(out[:min(len(out), 1000)]))
	switch {
	case ctx.Err() != nil:
		r.problem("claude_hangs", fmt.Sprintf("%s --version did not answer within %v.", path, versionBound),
			"A claude that does not start answers nothing.", quote(path)+" --version")
	case err != nil || found == "":
		r.problem("claude_broken", fmt.Sprintf("%s --version does not tell a version: %s", path, said(out, err)),
			"This is not Claude Code, or it cannot start on this machine.", updateClaude)
	case older(found, claude.TestedFrom):
		r.note("claude_old", fmt.Sprintf("%s is version %s; this program was tested from %s on.", path, found, claude.TestedFrom),
			"An older one may lack what the gateway relies on; the check “turn” shows whether it answers at all.", updateClaude)
	case older(claude.TestedTo, found):
		r.note("claude_new", fmt.Sprintf("%s is version %s; this program was tested up to %s.", path, found, claude.TestedTo),
			"Usually that is fine; the check “turn” shows whether the two understand each other.", "")
	default:
		r.ok("%s is version %s, which is known to work.", path, found)
	}
	if err == nil {
		checkSessionVersions(r, found)
	}
}

// checkSessionVersions names the sessions of the running gateway whose claude is older than the
// program.
func checkSessionVersions(r *report, found string) {
	h, err := r.health()
	if err != nil || found == "" {
		return
	}
	old := map[string][]string{}
	for _, ch := range h.Channels.Active {
		if v := versionIn(ch.AgentVersion); v != "" && older(v, found) {
			old[v] = append(old[v], ch.Channel)
		}
	}
	for _, v := range slices.SortedFunc(maps.Keys(old), func(a, b string) int { return version.Compare("go"+a, "go"+b) }) {
		runs := "still run"
		if len(old[v]) == 1 {
			runs += "s"
		}
		r.note("sessions_old", fmt.Sprintf("%s %s version %s: %s.", humanize.Count(len(old[v]), "session"), runs, v, humanize.Shorten(strings.Join(old[v], ", "), 200)),
			"They go on with it until they have been idle, and then resume with "+found+".", "to change at once, `bareclaw stop --sessions` and `bareclaw start`")
	}
}

func versionIn(s string) string { return regexp.MustCompile(`\d+\.\d+\.\d+`).FindString(s) }

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

// older reports whether version a precedes b. Both versions consist of three numbers, as
// those of Go.
func older(a, b string) bool { return version.Compare("go"+a, "go"+b) < 0 }

func shorten(s string) string {
	return humanize.Shorten(strings.ToValidUTF8(strings.TrimSpace(s), "\uFFFD"), 300)
}

// providers lists the variables that make claude use another provider's login.
var providers = [...]struct{ variable, name string }{
	{"CLAUDE_CODE_USE_BEDROCK", "Amazon Bedrock"},
	{"CLAUDE_CODE_USE_ANTHROPIC_AWS", "Claude on AWS"},
	{"CLAUDE_CODE_USE_VERTEX", "Google Vertex AI"},
	{"CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD", "Claude on Google Cloud"},
	{"CLAUDE_CODE_USE_FOUNDRY", "Microsoft Foundry"},
	{"CLAUDE_CODE_USE_MANTLE", "Mantle"},
	{"CLAUDE_CODE_USE_GATEWAY", "an LLM gateway"},
}

// checkLogin reports the login available to claude. The check looks only for the
// presence of secrets.
func checkLogin(_ context.Context, r *report) {
	if r.cfg.Claude.Agent == config.AgentEcho {
		return
	}
	seen := r.claudeEnviron()
	switch kind := loginSeen(seen); {
	case kind != "":
		r.ok("claude will use %s.", kind)
	case r.Answered || r.Turn && !r.Offline || runtime.GOOS == "darwin": // an answer shows the login, or the keychain has one and cannot be read
	default:
		r.warning("login_missing", "No login was found where claude usually has one.",
			"claude may have one elsewhere (apiKeyHelper); without any, no message is answered.", r.loginAdvice())
	}
	var withheld []string
	for _, key := range [...]string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_API_KEY"} {
		if service.Lookup(r.Environ, key) != "" && service.Lookup(seen, key) == "" {
			withheld = append(withheld, key)
		}
	}
	if len(withheld) > 0 {
		r.note("key_withheld", strings.Join(withheld, ", ")+" is set, and claude does not see it.",
			"With a key, each use is paid for in place of a subscription, and every tool that claude runs could read it.",
			"to use it all the same: BARECLAW_PASS_ENV="+strings.Join(slices.Concat(r.cfg.Claude.PassEnv, withheld), ","))
	}
}

// loginSeen names the login that claude chooses in an environment, empty for none.
func loginSeen(environ []string) string {
	for _, p := range providers {
		if value := strings.ToLower(service.Lookup(environ, p.variable)); !slices.Contains([]string{"", "0", "false", "no", "off"}, value) {
			return p.name + " (" + p.variable + ")"
		}
	}
	for _, key := range [...]string{"ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"} {
		if service.Lookup(environ, key) != "" {
			return "the key in " + key + " (BARECLAW_PASS_ENV), each use of which is paid for"
		}
	}
	if service.Lookup(environ, claude.LoginVariable) != "" {
		return "the subscription's token in " + claude.LoginVariable
	}
	if path := filepath.Join(claudeDir(environ), ".credentials.json"); exists(path) {
		return "the login kept in " + path
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// claudeDir returns the directory of claude's own settings.
func claudeDir(environ []string) string {
	return cmp.Or(service.Lookup(environ, "CLAUDE_CONFIG_DIR"), filepath.Join(service.Lookup(environ, "HOME"), ".claude"))
}
