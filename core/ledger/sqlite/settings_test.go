package sqlite_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

// Settings are found again by another process, one value set leaves the others.
func TestSettings(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openAt(t, path)
	model, mode, some, none := "haiku", "plan", "channel_list,push_send", ""
	rule := func(text string) core.Rule {
		return core.Rule{ID: newID(), Channel: "c", Rule: text, Tool: "Bash", CreatedAt: day, By: "ann"}
	}
	one, two, same := rule("Bash(a, b)"), rule("Bash(c)"), rule("Bash(c)")
	for _, c := range []core.SettingsChange{
		{Channel: "c", Model: &model},
		{Channel: "c", PermissionMode: &mode, Add: []core.Rule{one, two}},
		{Channel: "c", Add: []core.Rule{same}},
		{Channel: "c", Remove: []string{one.ID, "unknown"}},
		{Channel: "d", Model: &model},
		{Channel: "d", Model: &none},
		{Channel: "c", Tools: &some},
		{Channel: "f", Tools: &some},
		{Channel: "f", Tools: &none},
		{Channel: "e", Remove: []string{two.ID}},
	} {
		mustWrite(t, l, core.Change{Settings: []core.SettingsChange{c}})
	}
	check.OK(t, l.Close())
	l = openAt(t, path)
	got, err := l.Settings(t.Context())
	check.OK(t, err)
	want := map[core.ChannelKey]core.Settings{
		"c": {Model: "haiku", PermissionMode: "plan", Tools: some, Rules: []core.Rule{two}},
		"d": {HadModel: true},
		"f": {},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("settings are %+v\nwant %+v", got, want)
	}
}
