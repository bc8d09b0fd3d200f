package lanes

import "cmp"

// Advice holds what texts for people say about changing the gateway's behaviour. Lanes know
// neither the names of settings nor the commands of adapters, so the caller of New supplies
// both. Empty advice is omitted.
type Advice struct {
	DailyBudget string // name of the setting of DailyBudget
	MaxSessions string // name of the setting of MaxSessions
	TurnTimeout string // name of the setting of TurnTimeout
	AskPeople   string // how to have people asked for permissions, as in "set X and answer at Y"
	AllowTool   string // how to allow a tool without a permission, as in "add the tool to X"
	// UndoModel and UndoMode say how to remove a channel's model or permission mode, and Undo
	// how to remove any setting.
	UndoModel, UndoMode, Undo string
}

// parenthesized returns name in parentheses after a space; empty for an empty name.
func parenthesized(name string) string {
	if name == "" {
		return ""
	}
	return " (" + name + ")"
}

// denied returns the message for the agent, and through the agent for the user, about how to
// allow a tool.
func (a *Advice) denied(tool string, question bool) string {
	if question {
		text := "Nobody can be asked on this channel. Go on with what is most likely meant, or end your answer with the question."
		if a.AskPeople != "" {
			text += " To be asked, " + a.AskPeople + "."
		}
		return text
	}
	text := "Permission for " + tool + " was denied because nobody can be asked on this channel."
	if a.AllowTool != "" && a.AskPeople != "" {
		text += " To allow it, " + a.AllowTool + ", or " + a.AskPeople + "."
	}
	return text
}

// timeout names the limit of a turn's duration.
func (a *Advice) timeout() string { return cmp.Or(a.TurnTimeout, "the time limit") }
