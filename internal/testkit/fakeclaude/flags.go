package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// flags are the options that change what this program does.
type flags struct {
	version, resumes, forgets bool
	sessionID                 string
	permissionMode            string
	model                     string
	maxTurns                  int     // 0: no limit
	maxBudget                 float64 // USD; 0: no limit
}

// refusal is a reason not to start, in the real program's words where known.
type refusal string

func (r refusal) Error() string { return string(r) }

// The options that a gateway uses, by the number of their arguments. Those of many take all
// up to the next option.
const (
	alone = "-p --verbose --version --include-partial-messages --replay-user-messages --strict-mcp-config --no-session-persistence"
	one   = "--input-format --output-format --session-id --resume --permission-prompt-tool --permission-mode --model --max-turns --max-budget-usd " +
		"--append-system-prompt --system-prompt --system-prompt-snapshot --settings"
	many = "--allowedTools --disallowedTools --tools"
)

// required is what every session is started with.
const required = "-p --input-format=stream-json --output-format=stream-json --verbose --include-partial-messages --replay-user-messages --permission-prompt-tool=stdio"

func parseFlags(args []string) (flags, error) {
	f := flags{permissionMode: "default", model: "claude-opus-5-5"}
	var given []string
	in := func(list, name string) bool { return slices.Contains(strings.Fields(list), name) }
	for i := 0; i < len(args); i++ {
		name, value, whole := strings.Cut(args[i], "=")
		isOption := func(j int) bool { return j >= len(args) || strings.HasPrefix(args[j], "-") }
		switch {
		case in(alone, name), whole && in(one+" "+many, name):
		case in(one, name) && i+1 < len(args):
			i++
			value = args[i]
		case in(many, name):
			for !isOption(i + 1) {
				i++
			}
		default:
			return f, refusal("error: unknown option '" + args[i] + "', or an argument is missing")
		}
		given = append(given, strings.TrimSuffix(name+"="+value, "="))
		if err := f.set(name, value); err != nil {
			return f, err
		}
	}
	if f.version {
		return f, nil
	}
	for _, option := range strings.Fields(required) {
		if !slices.Contains(given, option) {
			return f, refusal("fakeclaude: started without " + option)
		}
	}
	if uuid.Validate(f.sessionID) != nil {
		return f, refusal("Error: Invalid session ID. Must be a valid UUID.")
	}
	return f, nil
}

func (f *flags) set(name, value string) (err error) {
	switch name {
	case "--version":
		f.version = true
	case "--no-session-persistence":
		f.forgets = true
	case "--session-id", "--resume":
		if f.sessionID != "" {
			return refusal("Error: --session-id with --continue or --resume also needs --fork-session.")
		}
		f.sessionID, f.resumes = value, name == "--resume"
	case "--permission-mode":
		f.permissionMode = value
		if !slices.Contains([]string{"default", "manual", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"}, value) {
			err = refusal("error: option '--permission-mode <mode>' argument '" + value + "' is invalid")
		}
	case "--model":
		f.model = value
	case "--max-turns":
		f.maxTurns, err = strconv.Atoi(value)
	case "--max-budget-usd":
		f.maxBudget, err = strconv.ParseFloat(value, 64)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
