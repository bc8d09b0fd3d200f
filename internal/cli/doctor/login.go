package doctor

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
)

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
func checkLogin(_ context.Context, l *look) []Finding {
	if l.cfg.Agent == config.AgentEcho {
		return nil
	}
	seen := l.claudeEnviron()
	found := withheldKeys(l, seen)
	if kind := loginSeen(seen); kind != "" {
		return append([]Finding{ok("claude will use %s.", kind)}, found...)
	}
	if l.Answered {
		return append([]Finding{ok("claude has a login, since it has answered.")}, found...)
	}
	const what = "No login was found where claude usually has one."
	const why = "claude may have one elsewhere (a keychain, apiKeyHelper); without any, no message is answered."
	if l.Turn && !l.Offline || runtime.GOOS == "darwin" { // the turn shows the login, or the keychain cannot be read
		return append(found, note("login_unseen", what, why, "run `claude` once to log in"))
	}
	return append(found, warning("login_missing", what, why, "run `claude` once to log in"))
}

// loginSeen names the login that claude chooses in an environment, empty for none.
func loginSeen(environ []string) string {
	for _, p := range providers {
		if isOn(service.Lookup(environ, p.variable)) {
			return p.name + " (" + p.variable + ")"
		}
	}
	for _, key := range [...]string{"ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"} {
		if service.Lookup(environ, key) != "" {
			return "the key in " + key + " (BARECLAW_PASS_ENV), each use of which is paid for"
		}
	}
	if service.Lookup(environ, "CLAUDE_CODE_OAUTH_TOKEN") != "" {
		return "the subscription's token in CLAUDE_CODE_OAUTH_TOKEN"
	}
	dir := service.Lookup(environ, "CLAUDE_CONFIG_DIR")
	if dir == "" {
		dir = filepath.Join(service.Lookup(environ, "HOME"), ".claude")
	}
	if path := filepath.Join(dir, ".credentials.json"); exists(path) {
		return "the login kept in " + path
	}
	return ""
}

// withheldKeys reports keys in the gateway's environment that claude does not receive.
func withheldKeys(l *look, seen []string) []Finding {
	var names []string
	for _, key := range [...]string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_API_KEY"} {
		if service.Lookup(l.Environ, key) != "" && service.Lookup(seen, key) == "" {
			names = append(names, key)
		}
	}
	if len(names) == 0 {
		return nil
	}
	passed := strings.Join(slices.Concat(l.cfg.PassEnv, names), ",")
	return []Finding{note("key_withheld", strings.Join(names, ", ")+" is set, and claude does not see it.",
		"With a key, each use is paid for in place of a subscription, and every tool that claude runs could read it.",
		"to use it all the same: BARECLAW_PASS_ENV="+passed)}
}

func isOn(value string) bool {
	return value != "" && !slices.Contains([]string{"0", "false", "no", "off"}, strings.ToLower(value))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// heedTurn replaces the finding of an unseen login if claude has answered.
func heedTurn(found []Finding) []Finding {
	if !slices.ContainsFunc(found, func(f Finding) bool { return f.Check == "turn" && f.Level == OK }) {
		return found
	}
	for i := range found {
		if found[i].Code == "login_unseen" {
			found[i] = ok("claude has a login, since it has answered; it is not where it usually is.")
			found[i].clean("login")
		}
	}
	return found
}
