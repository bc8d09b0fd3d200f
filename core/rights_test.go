package core

import "testing"

func TestMayDirect(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		own, other string
		want       bool
	}{
		{"plan", "plan", true},
		{"plan", "dontAsk", false},
		{"dontAsk", "plan", true},
		{"default", "manual", true},
		{"manual", "default", true},
		{"default", "auto", false},
		{"auto", "default", true},
		{"acceptEdits", "auto", true},
		{"acceptEdits", "bypassPermissions", false},
		{"bypassPermissions", "acceptEdits", true},
		{"", "", true},
		{"", "default", true},
		{"", "auto", false},
		{"default", "", false},
		{"acceptEdits", "", false},
		{"bypassPermissions", "", true},
		{"plan", "newMode", false},
		{"newMode", "newMode", true},
		{"newMode", "default", false},
	} {
		if got := MayDirect(row.own, row.other); got != row.want {
			t.Errorf("MayDirect(%q, %q) = %t, want %t", row.own, row.other, got, row.want)
		}
	}
	for i, mode := range PermissionModes() {
		if !MayDirect(mode, PermissionModes()[max(0, i-1)]) {
			t.Errorf("%s lets the agent do less than the mode before it", mode)
		}
	}
}
