package sessionhost

import (
	"encoding/json"

	"bareclaw/core"
	"bareclaw/sessionhost/claude"
)

// Show returns what an agent's line, the Raw of an update, shows to a person. It is
// the function that adapters are given. What it returns aliases the line.
func Show(raw json.RawMessage) []core.Shown {
	said := claude.Show(raw)
	if len(said) == 0 {
		return nil
	}
	shown := make([]core.Shown, len(said))
	for i, s := range said {
		shown[i] = core.Shown{
			Kind: core.ShownKind(s.Kind), ID: s.ID, Message: s.Message, Index: s.Index, Parent: s.Parent, Text: s.Text,
			Tool: s.Tool, Target: s.Target, Input: s.Input, IsError: s.IsError, Tasks: s.Tasks,
		}
	}
	return shown
}
