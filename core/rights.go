package core

import (
	"cmp"
	"slices"
)

// permissionModes are the permission modes of channels, from the one that lets the agent do least
// unasked to the one that lets it do most. Names in a row mean the same.
var permissionModes = [][]string{{"plan"}, {"dontAsk"}, {"default", "manual"}, {"auto"}, {"acceptEdits"}, {"bypassPermissions"}}

// PermissionModes returns the names of the permission modes, from the one that lets the agent do
// least unasked to the one that lets it do most.
func PermissionModes() []string { return slices.Concat(permissionModes...) }

// AsksNever reports whether agents with a permission mode may do everything unasked.
func AsksNever(mode string) bool { return mode == "bypassPermissions" }

// RefusesUnasked reports whether agents with a permission mode are refused what they may not do, without a
// question to anybody.
func RefusesUnasked(mode string) bool { return mode == "dontAsk" }

// MayDirect reports whether an agent with the permission mode own may make an agent with the
// mode other act: other must not let its agent do more unasked than own does. An empty mode
// leaves the choice to the agent's own settings, which may choose any: an empty own counts as
// "default", and an empty other as bypassPermissions, unless both are empty.
func MayDirect(own, other string) bool {
	from, to := rank(cmp.Or(own, "default")), rank(cmp.Or(other, "bypassPermissions"))
	return own == other || from >= 0 && to >= 0 && from >= to
}

// rank returns the place of a mode among permissionModes, or a negative number.
func rank(mode string) int {
	return slices.IndexFunc(permissionModes, func(names []string) bool { return slices.Contains(names, mode) })
}
