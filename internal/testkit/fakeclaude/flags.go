package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// flags are the options that change what this program does; the others are
// accepted and forgotten.
type flags struct {
	print, verbose, version bool
	inputFormat             string
	outputFormat            string
	partial                 bool // --include-partial-messages
	replay                  bool // --replay-user-messages
	sessionID, resume       string
	fork                    bool
	promptTool              string // --permission-prompt-tool
	permissionMode          string
	skipPermissions         bool
	forgets                 bool // --no-session-persistence
	model                   string
	maxTurns                int     // 0: no limit
	maxBudget               float64 // USD; 0: no limit
}

// refusal is a reason not to start, in the real program's words where known.
type refusal string

func (r refusal) Error() string { return string(r) }

func refusef(format string, args ...any) refusal { return refusal(fmt.Sprintf(format, args...)) }

// arity says how many arguments an option takes.
type arity int

const (
	none     arity = iota
	one            // exactly one
	optional       // one, unless the next argument is an option
	many           // all up to the next option
)

// arityOf knows the options of the real program that a gateway might use.
func arityOf(name string) (arity, bool) {
	switch name {
	case "-p", "--print", "--verbose", "-v", "--version", "--include-partial-messages", "--replay-user-messages",
		"--fork-session", "--dangerously-skip-permissions", "--allow-dangerously-skip-permissions", "--strict-mcp-config",
		"--no-session-persistence", "--bare", "--include-hook-events", "--await-initialize", "--disable-slash-commands",
		"--exclude-dynamic-system-prompt-sections", "-c", "--continue":
		return none, true
	case "--input-format", "--output-format", "--session-id", "--permission-prompt-tool", "--permission-mode",
		"--permission-prompts", "--model", "--fallback-model", "--max-turns", "--max-budget-usd", "--system-prompt",
		"--append-system-prompt", "--system-prompt-file", "--append-system-prompt-file", "--system-prompt-snapshot",
		"--settings", "--setting-sources", "--agents", "--agent", "--json-schema", "--effort", "--max-thinking-tokens",
		"--debug-file", "-n", "--name", "--resume-session-at":
		return one, true
	case "-r", "--resume", "-d", "--debug":
		return optional, true
	case "--allowedTools", "--allowed-tools", "--disallowedTools", "--disallowed-tools", "--tools", "--mcp-config",
		"--add-dir", "--betas", "--plugin-dir":
		return many, true
	}
	return none, false
}

func parseFlags(args []string) (flags, error) {
	f := flags{inputFormat: "text", outputFormat: "text", permissionMode: "default", model: "claude-opus-5-5"}
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") {
			continue // a prompt: not used with stream-JSON input
		}
		if args[i] == "--" {
			break
		}
		name, value, given := strings.Cut(args[i], "=")
		n, known := arityOf(name)
		if !known {
			return f, refusef("error: unknown option '%s'", args[i])
		}
		isOption := func(j int) bool { return j >= len(args) || strings.HasPrefix(args[j], "-") }
		switch {
		case given || n == none:
		case n == one && i+1 >= len(args):
			return f, refusef("error: option '%s' argument missing", name)
		case n == one, n == optional && !isOption(i+1):
			i++
			value = args[i]
		case n == many:
			for !isOption(i + 1) {
				i++
			}
		}
		if err := f.set(name, value); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (f *flags) set(name, value string) (err error) {
	switch name {
	case "-p", "--print":
		f.print = true
	case "--verbose":
		f.verbose = true
	case "-v", "--version":
		f.version = true
	case "--include-partial-messages":
		f.partial = true
	case "--replay-user-messages":
		f.replay = true
	case "--fork-session":
		f.fork = true
	case "--no-session-persistence":
		f.forgets = true
	case "--dangerously-skip-permissions":
		f.skipPermissions = true
	case "--input-format":
		f.inputFormat = value
	case "--output-format":
		f.outputFormat = value
	case "--session-id":
		f.sessionID = value
	case "-r", "--resume":
		f.resume = value
	case "--permission-prompt-tool":
		f.promptTool = value
	case "--permission-mode":
		f.permissionMode = value
	case "--model":
		f.model = value
	case "--max-turns":
		if f.maxTurns, err = strconv.Atoi(value); err != nil {
			return refusef("error: option '--max-turns <turns>' argument '%s' is invalid", value)
		}
	case "--max-budget-usd":
		if f.maxBudget, err = strconv.ParseFloat(value, 64); err != nil || f.maxBudget <= 0 {
			return refusef("error: option '--max-budget-usd <amount>' argument '%s' is invalid", value)
		}
	}
	return nil
}

// check refuses what the real program refuses, in its words where known.
func (f *flags) check(getenv func(string) string) error {
	modes := []string{"default", "manual", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"}
	bypass := f.skipPermissions || f.permissionMode == "bypassPermissions"
	switch {
	case !slices.Contains(modes, f.permissionMode):
		return refusef("error: option '--permission-mode <mode>' argument '%s' is invalid", f.permissionMode)
	case bypass && os.Geteuid() == 0 && getenv("IS_SANDBOX") == "":
		return refusal("--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons")
	case f.outputFormat == "stream-json" && !f.verbose:
		return refusal("Error: When using --print, --output-format=stream-json requires --verbose")
	case f.inputFormat == "stream-json" && f.outputFormat != "stream-json":
		return refusal("Error: --input-format=stream-json requires output-format=stream-json.")
	case !f.print || f.inputFormat != "stream-json":
		return refusal("fakeclaude: only -p --input-format stream-json is scripted")
	case f.sessionID != "" && f.resume != "":
		return refusal("Error: --session-id with --continue or --resume also needs --fork-session.")
	case f.sessionID != "" && uuid.Validate(f.sessionID) != nil:
		return refusal("Error: Invalid session ID. Must be a valid UUID.")
	case f.resume != "" && uuid.Validate(f.resume) != nil:
		return refusef("Error: --resume requires a valid session ID or session title when used with --print. "+
			"Usage: claude -p --resume <session-id|title>. Provided value %q is not a UUID and does not match any session title.", f.resume)
	case f.fork:
		return refusal("fakeclaude: --fork-session is not scripted")
	}
	return nil
}
