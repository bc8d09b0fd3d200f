package setup

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"bareclaw/core/config"
	"bareclaw/internal/steps"
)

// The answers to the question what Claude may do without asking, on the command line too.
const (
	PermissionsFree = "free"
	PermissionsAsk  = "ask"
	PermissionsAuto = "auto"
)

const (
	varTools = "BARECLAW_ALLOWED_TOOLS"
	varMode  = "BARECLAW_PERMISSION_MODE"

	// askedTools are the allowed tools where commands and edits are not allowed.
	askedTools = "Read,Glob,Grep,Skill,Task"
)

// A permissions is a choice of what Claude may do without asking.
type permissions struct {
	word  string // the answer
	tools string // BARECLAW_ALLOWED_TOOLS; empty: its default
	mode  string // BARECLAW_PERMISSION_MODE; empty: its default
	does  string // for a person
}

// choices are the permissions that init offers. For auto the tools are those of ask: claude falls
// back to asking where the model has no auto mode.
var choices = []permissions{
	{PermissionsFree, "", "", "Claude runs any command and edits any file without asking"},
	{PermissionsAsk, askedTools, "default", "Claude reads freely, and asks before it runs a command or edits a file"},
	{PermissionsAuto, askedTools, "auto", "Anthropic's safety check decides about commands and edits; what it does not let pass is refused"},
}

// choosePermissions says what Claude may do without asking, and asks whether that is wanted.
func choosePermissions(ctx context.Context, w *wizard) (steps.Outcome, error) {
	if w.current(varAgent) == string(config.AgentEcho) {
		return steps.Skipped("the echo agent does nothing"), nil
	}
	now := currentPermissions(w)
	word := cmp.Or(w.Permissions, now.word)
	if w.asks() && w.Permissions == "" {
		w.note("Claude works as your user, with your files and logins, for everybody who may write to it. By default it runs any command and edits any file without asking. What may it do?")
		w.note("1 free: %s.", choices[0].does)
		w.note("2 ask:  %s, with buttons in the chat. Schedules and the heartbeat wait for your answer too.", choices[1].does)
		w.note("3 auto: %s. It needs a login with Anthropic, and a recent model.", choices[2].does)
		var err error
		if word, err = askPermissions(ctx, w, now); err != nil {
			return steps.Outcome{}, err
		}
	}
	if word == now.word {
		outcome := steps.Unchanged(now.does)
		if now.word == PermissionsFree && !w.asks() && w.Permissions == "" {
			outcome.Next = "to change that: bareclaw init --permissions=ask, or auto"
		}
		return outcome, nil
	}
	chosen := choices[slices.IndexFunc(choices, func(p permissions) bool { return p.word == word })]
	if err := errors.Join(w.choose(varTools, chosen.tools), w.choose(varMode, chosen.mode)); err != nil {
		return steps.Outcome{}, err
	}
	return steps.Done(chosen.does), nil
}

func askPermissions(ctx context.Context, w *wizard, now permissions) (word string, err error) {
	q := steps.Question{
		Text: "1, 2 or 3",
		Has:  now.word,
		Help: "It can be changed later: by this command, for a chat with /mode, and by `bareclaw channels set CHANNEL --permission-mode MODE`. " +
			varTools + " and " + varMode + " say it in detail.",
	}
	for {
		answer, err := w.ask(ctx, q)
		if err != nil {
			return "", err
		}
		answer = strings.ToLower(cmp.Or(answer, now.word))
		if answer == now.word {
			return answer, nil
		}
		for i, p := range choices {
			if answer == p.word || answer == strconv.Itoa(i+1) {
				return p.word, nil
			}
		}
		w.say(steps.Indent + "Please answer 1, 2 or 3.")
	}
}

// currentPermissions returns the choice that is set; its word is "as set" for settings of the
// user's own.
func currentPermissions(w *wizard) permissions {
	tools, mode := w.current(varTools), w.current(varMode)
	if tools == config.DefaultOf(varTools) {
		tools = ""
	}
	for _, p := range choices {
		if p.tools == tools && p.mode == mode {
			return p
		}
	}
	var set []string
	for _, name := range []string{varTools, varMode} {
		if value := w.current(name); value != "" {
			set = append(set, name+"="+value)
		}
	}
	return permissions{word: "as set", does: "as you have set it: " + strings.Join(set, ", ")}
}
