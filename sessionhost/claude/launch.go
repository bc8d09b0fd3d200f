// Package claude holds all knowledge about the claude CLI in its headless stream-JSON mode:
// command line and environment, the lines on its stdin, the events on its stdout, and the
// transcript, which tells the fate of a turn after a crash.
//
// The package starts no process and opens no socket. Values that a lane acts on have types of
// package core.
//
// Two guarantees hold throughout. No output of claude can make the package fail for good:
// an unknown event type or field passes through untouched in Event.Raw, and a bad line is
// one error, not the end of the stream. And no value from outside becomes more than a
// value: neither a second line on stdin, nor a flag, nor a path.
//
// The facts in this package were measured with version 2.1.329 of the CLI; the recordings
// under testdata are real.
package claude

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A Launch holds the parameters of a claude process. Zero fields omit their flags.
type Launch struct {
	SessionID string // a UUID
	Resume    bool   // continue the session instead of creating it
	MaxTurns  int    // model requests in one turn
	// MaxBudgetUSD is the budget of the process. claude counts from its start or the last
	// /clear, checks between model requests, and then refuses every turn at once with the
	// same error.
	MaxBudgetUSD float64
	AllowedTools string // rules separated by commas
	// Allow are further rules, passed through --settings: --allowedTools splits rules at
	// brackets and commas, and one unreadable rule would spoil the others.
	Allow []string
	// SettingSources are the sources of settings that claude reads, separated by commas; all
	// if empty.
	SettingSources     string
	Model              string
	PermissionMode     string
	AppendSystemPrompt string
	// FileMentions makes @path in a user text the content of the file. Without, claude only
	// tells the model that the file was mentioned. See [Inert] for texts of others.
	FileMentions bool
}

// Args returns the command line after the program's name. No value is taken for a flag.
func (l Launch) Args() []string {
	args := []string{
		"-p",
		"--input-format", "stream-json",
		"--output-format", "stream-json",
		"--verbose", // required by stream-json output
		"--include-partial-messages",
		"--replay-user-messages",
		"--permission-prompt-tool", "stdio",
		"--system-prompt-snapshot", "off", // else a changed prompt is ignored on resume
		"--disallowedTools", ownSchedules,
	}
	if l.MaxTurns > 0 {
		args = append(args, "--max-turns", strconv.Itoa(l.MaxTurns))
	}
	if l.MaxBudgetUSD > 0 {
		args = append(args, "--max-budget-usd", strconv.FormatFloat(l.MaxBudgetUSD, 'f', -1, 64))
	}
	// --allowedTools takes every argument up to the next flag, so a flag must follow:
	// always the session's.
	args = appendFlag(args, "--allowedTools", l.AllowedTools)
	args = appendFlag(args, "--settings", l.settings())
	args = appendFlag(args, "--setting-sources", l.SettingSources)
	args = appendFlag(args, "--model", l.Model)
	args = appendFlag(args, "--permission-mode", l.PermissionMode)
	args = appendFlag(args, "--append-system-prompt", l.AppendSystemPrompt)
	if l.Resume {
		return appendFlag(args, "--resume", l.SessionID)
	}
	return appendFlag(args, "--session-id", l.SessionID)
}

// Environ returns what the launch adds to claude's environment, as KEY=value strings.
func (l Launch) Environ() []string {
	if l.FileMentions {
		return nil
	}
	return []string{noFileMentions + "=1"}
}

// ownSchedules are claude's tools for later and regular turns. Their schedules live in the
// process: claude would spend money without a message, and a reminder would not outlive an idle
// session. The gateway's own schedules take their place.
const ownSchedules = "CronCreate,CronDelete,CronList,ScheduleWakeup"

// settings returns the value of --settings. claude adds the rules to the rules in the user's own
// settings. Messages of other sessions are refused: with its tool SendMessage, which needs no
// permission, a claude could otherwise speak in any chat. claude's own subagents still receive
// messages.
func (l Launch) settings() string {
	settings := map[string]any{"crossSessionInbound": "refuse"}
	if len(l.Allow) > 0 {
		settings["permissions"] = map[string]any{"allow": l.Allow}
	}
	b, err := json.Marshal(settings)
	if err != nil {
		panic("claude: strings do not encode: " + err.Error())
	}
	return string(b)
}

func appendFlag(args []string, flag, value string) []string {
	switch {
	case value == "":
		return args
	case strings.HasPrefix(value, "-"):
		return append(args, flag+"="+value)
	}
	return append(args, flag, value)
}

// Environ returns claude's environment as KEY=value strings: the parent's, which the user's
// tools need, without secrets (this program's settings and tokens, API keys) and without the
// variables of a claude or a service manager around the gateway. The names in pass are never
// withheld. The last of duplicates wins.
func Environ(parent, pass []string) []string {
	at := make(map[string]int, len(parent)) // index in env by name
	env := make([]string, 0, len(parent)+3)
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
	set(noSchedules, noSchedules+"=1")
	if _, ok := at[mcpWait]; !ok {
		set(mcpWait, mcpWait+"="+mcpWaitDefault)
	}
	return env
}

const (
	noTraffic      = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"
	noFileMentions = "CLAUDE_CODE_DISABLE_FILE_MENTIONS"
	mcpWait        = "CLAUDE_CODE_MCP_STARTUP_WAIT_MS"
	// Otherwise claude carries out the schedules of other sessions in .claude/scheduled_tasks.json
	// of the working directory, also without the tools.
	noSchedules = "CLAUDE_CODE_DISABLE_CRON"

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

// chosenNames are exceptions from withheldNames: variables that the user chooses.
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

// The first and last version of the CLI that the tests with the real one have passed with.
const (
	TestedFrom = "2.1.319"
	TestedTo   = "2.1.332"
)
