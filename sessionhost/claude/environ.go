package claude

import (
	"path"
	"slices"
	"strings"
)

// Environ returns claude's environment as KEY=value strings: the parent's, which the user's
// tools need, without leaks (this program's settings and tokens, API keys) and false traces
// (of a claude or a service manager around the gateway). The names in pass are always let
// through. The last of duplicates wins.
func Environ(parent, pass []string) []string {
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
		if ok && name != "" && (slices.Contains(pass, name) || !withheld(name)) {
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

func withheld(name string) bool { return matches(withheldNames, name) && !matches(chosenNames, name) }

// withheldNames are patterns of variables that claude must not inherit.
var withheldNames = strings.Fields(`
	BARECLAW_* ANTHROPIC_API_KEY CLAUDE_API_KEY ANTHROPIC_AUTH_TOKEN ` + // every tool gets claude's environment
	`CLAUDE_CODE_* CLAUDECODE CLAUDE_PID CLAUDE_EFFORT AI_AGENT ` + // set by a claude for its children, or changes how claude runs
	`LISTEN_* WATCHDOG_* NOTIFY_SOCKET MAINPID MANAGERPID INVOCATION_ID JOURNAL_STREAM SYSTEMD_EXEC_PID
	MEMORY_PRESSURE_WATCH MEMORY_PRESSURE_WRITE CREDENTIALS_DIRECTORY FDSTORE`) // set by systemd for this daemon: systemd.exec(5)

// chosenNames are patterns of those that are choices of the user.
var chosenNames = strings.Fields(`
	CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CODE_API_KEY_HELPER_TTL_MS CLAUDE_CODE_CLIENT_CERT CLAUDE_CODE_CLIENT_KEY
	CLAUDE_CODE_CLIENT_KEY_PASSPHRASE CLAUDE_CODE_CERT_STORE CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_USE_VERTEX
	CLAUDE_CODE_USE_FOUNDRY CLAUDE_CODE_USE_MANTLE CLAUDE_CODE_USE_GATEWAY CLAUDE_CODE_USE_ANTHROPIC_AWS
	CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD CLAUDE_CODE_SKIP_*_AUTH ` + // login and provider, also of one behind a gateway
	`CLAUDE_CODE_MAX_RETRIES CLAUDE_CODE_MAX_OUTPUT_TOKENS CLAUDE_CODE_EFFORT_LEVEL CLAUDE_CODE_SUBAGENT_MODEL
	CLAUDE_CODE_DISABLE_1M_CONTEXT CLAUDE_CODE_AUTO_COMPACT_WINDOW CLAUDE_CODE_MCP_STARTUP_WAIT_MS
	CLAUDE_CODE_SHELL CLAUDE_CODE_SHELL_PREFIX CLAUDE_CODE_TMPDIR`) // cost, patience and the shell of the user's tools

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := path.Match(pattern, name) // the patterns are well-formed
		return ok
	})
}
