package view

import (
	"strconv"
	"strings"

	"bareclaw/core"
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

// modelAliases are names always known to the agent.
var modelAliases = []string{"opus", "sonnet", "haiku", ModelReset}

// modesShown are the modes with a button: other modes are rarely wanted.
var modesShown = []string{"default", "acceptEdits", "plan", ModeBypass, ModeReset}

// verbosities describe the output at each level.
var verbosities = [...]string{"answers only", "answers, and what Claude is doing", "everything that Claude does and says"}

// Model shows a chat's own model, below a text.
func Model(text, own string) Note {
	var row []Button
	for _, alias := range modelAliases {
		row = append(row, Button{Text: chosen(alias, alias == own || alias == ModelReset && own == ""), Data: "model:" + alias})
	}
	return Note{Text: text + " Tap a model, or write /model and its name.", Buttons: [][]Button{row[:3], row[3:]}}
}

// BadModel refuses a model.
func BadModel(name string) Note {
	return Note{Text: Literal(Brief(name, 100)) + " is not the name of a model. Write one word such as `opus`, `sonnet`, `haiku`, " +
		"the full name of a model, or `default` for the model that the gateway is configured with."}
}

// Mode shows a chat's own permission mode, below a text.
func Mode(text, own string) Note {
	var rows [][]Button
	for _, mode := range modesShown {
		label := mode
		if mode == ModeReset {
			label = "as configured"
		}
		b := Button{Text: chosen(label, mode == own || mode == ModeReset && own == ""), Data: "mode:" + mode}
		if len(rows) == 0 || len(rows[len(rows)-1]) == 2 {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], b)
	}
	return Note{Text: text + " Tap a mode, or write /mode and one of " + strings.Join(core.PermissionModes(), ", ") + ".", Buttons: rows}
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
	return Note{Text: Literal(Brief(name, 100)) + " is not a permission mode. The modes are " + strings.Join(core.PermissionModes(), ", ") +
		"; `reset` chooses the mode that the gateway is configured with."}
}

// Levels is the number of levels of verbosity.
const Levels = len(verbosities)

// Verbose shows a chat's verbosity.
func Verbose(when string, level int) Note {
	var row []Button
	for i := range verbosities {
		n := strconv.Itoa(i)
		row = append(row, Button{Text: chosen(n, i == level), Data: "verbose:" + n})
	}
	return Note{Text: when + ": " + verbosities[level] + ". Tap 0, 1 or 2 to change that.", Buttons: [][]Button{row}}
}

// BadVerbose refuses a verbosity.
func BadVerbose(level string) Note {
	return Note{Text: Literal(Brief(level, 100)) + " is not a level. Write /verbose 0 (" + verbosities[0] + "), 1 (" + verbosities[1] +
		") or 2 (" + verbosities[2] + ")."}
}

func chosen(text string, is bool) string {
	if is {
		return "✓ " + text
	}
	return text
}
