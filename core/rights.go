package core

import (
	"cmp"
	"slices"
)

// rights are the permission modes, from the one that lets the agent do least unasked to the one
// that lets it do most.
var rights = []string{"plan", "dontAsk", "default", "auto", "acceptEdits", "bypassPermissions"}

// MayDirect reports whether an agent with the permission mode own may make an agent with the
// mode other act: other must not let its agent do more unasked than own does. An empty mode
// leaves the choice to the agent's own settings, which may choose any: an empty own counts as
// "default", and an empty other as bypassPermissions, unless both are empty.
func MayDirect(own, other string) bool {
	from, to := rank(cmp.Or(own, "default")), rank(cmp.Or(other, "bypassPermissions"))
	return own == other || from >= 0 && to >= 0 && from >= to
}

// rank returns the place of a mode among rights, or a negative number.
func rank(mode string) int {
	if mode == "manual" { // another name
		mode = "default"
	}
	return slices.Index(rights, mode)
}
