package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"bareclaw/core"
	"bareclaw/internal/mdtext"
)

const (
	// ModelReset chooses the model configured for the gateway.
	ModelReset = "default"
	// ModeReset chooses the permission mode configured for the gateway.
	ModeReset = "reset"
	// ModeBypass must be confirmed, by a button with the data ModeSure.
	ModeBypass = "bypassPermissions"
	// ModeSure confirms ModeBypass.
	ModeSure = "sure"
	// ModeKeep declines ModeBypass: the chat keeps the current mode.
	ModeKeep = "keep"
)

// modesShown are the modes with a button: other modes are rarely wanted.
var modesShown = []string{"default", "acceptEdits", "auto", "plan", ModeBypass, ModeReset}

var verbosities = [...]string{"answers only", "answers, and what Claude is doing", "everything that Claude does and says"}

// choices returns a note with rows of buttons that choose, and marks the present choice.
func choices(text, verb string, perRow int, present string, all []string) Note {
	n := Note{Text: text}
	for row := range slices.Chunk(all, perRow) {
		var buttons []Button
		for _, c := range row {
			label := c
			if c == ModeReset {
				label = "as configured"
			}
			if c == present {
				label = "✓ " + label
			}
			buttons = append(buttons, Button{Text: label, Data: verb + ":" + c})
		}
		n.Buttons = append(n.Buttons, buttons)
	}
	return n
}

// Model shows a chat's own model, below a text, with the models that the agent offers. Any other is
// written.
func Model(text, own string, offered []string) Note {
	all := append(slices.Clone(offered), ModelReset)
	return choices(text+" Tap a model, or write /model and its name, any that Claude knows.", "model", 3, cmp.Or(own, ModelReset), all)
}

// BadModel refuses a model.
func BadModel(name string, offered []string) Note {
	such := ""
	if len(offered) > 0 {
		such = " such as `" + strings.Join(offered, "`, `") + "`"
	}
	return Note{Text: mdtext.Literal(mdtext.Brief(name, 100)) + " is not the name of a model. Write one word" + such +
		", the full name of a model, or `default` for the model that the gateway is configured with."}
}

// Mode shows a chat's own permission mode, below a text.
func Mode(text, own string) Note {
	text += " Tap a mode, or write /mode and one of " + strings.Join(core.PermissionModes(), ", ") + "."
	return choices(text, "mode", 2, cmp.Or(own, ModeReset), modesShown)
}

// ConfirmBypass requests a confirmation to bypass permissions.
func ConfirmBypass() Note {
	return Note{
		Text: "**Careful**: with `bypassPermissions` Claude does whatever it wants on the gateway's machine, and nobody is asked first. " +
			"Everyone who can write in this chat, and everything that Claude reads, may exploit that.",
		Buttons: [][]Button{{{"Yes, bypass permissions", "mode:" + ModeSure}}, {{"No, keep the mode", "mode:" + ModeKeep}}},
	}
}

// BadMode refuses a permission mode.
func BadMode(name string) Note {
	return Note{Text: mdtext.Literal(mdtext.Brief(name, 100)) + " is not a permission mode. The modes are " + strings.Join(core.PermissionModes(), ", ") +
		"; `reset` chooses the mode that the gateway is configured with."}
}

// Levels is the number of levels of verbosity.
const Levels = len(verbosities)

// Verbose shows a chat's verbosity.
func Verbose(when string, level int) Note {
	return choices(when+": "+verbosities[level]+". Tap 0, 1 or 2 to change that.", "verbose", Levels, strconv.Itoa(level), []string{"0", "1", "2"})
}

// BadVerbose refuses a verbosity.
func BadVerbose(level string) Note {
	return Note{Text: mdtext.Literal(mdtext.Brief(level, 100)) + " is not a level. Write /verbose 0 (" + verbosities[0] + "), 1 (" + verbosities[1] +
		") or 2 (" + verbosities[2] + ")."}
}
