package claude

import "strings"

// Environ returns claude's environment as KEY=value strings: the parent's, which the user's
// tools need, without leaks (this program's settings and tokens, API keys) and false traces
// (of a claude or a service manager around the gateway). The names in pass are always let
// through. The last of duplicates wins.
func Environ(parent, pass []string) []string {
	readmitted := make(map[string]bool, len(pass))
	for _, name := range pass {
		readmitted[name] = true
	}
	at := make(map[string]int, len(parent)) // index in env by name
	env := make([]string, 0, len(parent)+2)
	set := func(name, entry string) {
		if i, ok := at[name]; ok {
			env[i] = entry
			return
		}
		at[name] = len(env)
		env = append(env, entry)
	}
	for _, entry := range parent {
		name, _, ok := strings.Cut(entry, "=")
		if ok && name != "" && (readmitted[name] || !withheld(name)) {
			set(name, entry)
		}
	}
	set(noTraffic, noTraffic+"=1")
	if _, ok := at[mcpWait]; !ok {
		set(mcpWait, mcpWait+"="+mcpWaitDefault)
	}
	return env
}

const (
	noTraffic = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"
	mcpWait   = "CLAUDE_CODE_MCP_STARTUP_WAIT_MS"

	// Otherwise a dead MCP server delays the first turn by 26 s. A later server still joins
	// the session.
	mcpWaitDefault = "5000"
)

func withheld(name string) bool {
	if rest, ok := strings.CutPrefix(name, "CLAUDE_CODE_"); ok {
		return !chosen(rest)
	}
	for _, prefix := range []string{"BARECLAW_", "LISTEN_", "WATCHDOG_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "ANTHROPIC_API_KEY", "CLAUDE_API_KEY", "ANTHROPIC_AUTH_TOKEN":
		return true // every tool gets claude's environment
	case "CLAUDECODE", "CLAUDE_PID", "CLAUDE_EFFORT", "AI_AGENT":
		return true // set by a claude for its children
	case "NOTIFY_SOCKET", "MAINPID", "MANAGERPID", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID",
		"MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE", "CREDENTIALS_DIRECTORY", "FDSTORE":
		return true // set by systemd for this daemon: systemd.exec(5)
	}
	return false
}

// chosen reports whether CLAUDE_CODE_<rest> is a choice of the user about login, provider
// or how to talk to it. Variables that a claude sets for its children (entry point, session
// id, …) or that change how claude runs (SIMPLE, REMOTE, …) are not.
func chosen(rest string) bool {
	switch rest {
	case "OAUTH_TOKEN", "API_KEY_HELPER_TTL_MS", "CLIENT_CERT", "CLIENT_KEY", "CLIENT_KEY_PASSPHRASE", "CERT_STORE",
		"USE_BEDROCK", "USE_VERTEX", "USE_FOUNDRY", "USE_MANTLE", "USE_GATEWAY", "USE_ANTHROPIC_AWS", "USE_ANTHROPIC_GOOGLE_CLOUD":
		return true // login and provider
	case "MAX_RETRIES", "MAX_OUTPUT_TOKENS", "EFFORT_LEVEL", "SUBAGENT_MODEL", "DISABLE_1M_CONTEXT", "AUTO_COMPACT_WINDOW",
		"MCP_STARTUP_WAIT_MS", "SHELL", "SHELL_PREFIX", "TMPDIR":
		return true // cost, patience and the shell of the user's tools
	}
	return strings.HasPrefix(rest, "SKIP_") && strings.HasSuffix(rest, "_AUTH") // of a provider behind a gateway
}
