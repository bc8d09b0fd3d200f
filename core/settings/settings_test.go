package settings

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/internal/testkit/check"
)

// Changes are checked, written and applied, and the next cache finds them in the ledger.
func TestCache(t *testing.T) {
	t.Parallel()
	l, err := sqlite.Open(filepath.Join(t.TempDir(), "ledger.db"), slog.New(slog.DiscardHandler))
	check.OK(t, err)
	defer func() { _ = l.Close() }()
	ctx, changed := t.Context(), []core.ChannelKey{}
	c := New(l, func(key core.ChannelKey) { changed = append(changed, key) }, core.Settings{})
	rule, err := core.NewRule("c", "Read", "ann", time.Now())
	check.OK(t, err)
	check.OK(t, c.change(ctx, core.SettingsChange{Channel: "c", Add: []core.Rule{rule}}))
	model, none := "haiku", ""
	check.OK(t, c.ChangeSettings(ctx, "c", Choice{Model: &model}))
	for _, bad := range []string{"-x", "a b", "\x00", strings.Repeat("m", 101)} {
		if err := c.ChangeSettings(ctx, "c", Choice{Model: &bad}); !errors.Is(err, core.ErrBadSetting) {
			t.Errorf("model %q: %v", bad, err)
		}
	}
	yolo := "yolo"
	if err := c.ChangeSettings(ctx, "c", Choice{PermissionMode: &yolo}); !errors.Is(err, core.ErrBadSetting) {
		t.Errorf("mode %q: %v", yolo, err)
	}
	some, unfit := " push_send, channel_list ", "all,push_send"
	check.OK(t, c.ChangeSettings(ctx, "c", Choice{Tools: &some}))
	if err := c.ChangeSettings(ctx, "c", Choice{Tools: &unfit}); !errors.Is(err, core.ErrBadSetting) {
		t.Errorf("tools %q: %v", unfit, err)
	}
	if err := c.RemoveRule(ctx, "other", rule.ID); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("remove a rule of another channel: %v", err)
	}
	next := New(l, nil, core.Settings{})
	known, err := l.Settings(ctx)
	check.OK(t, err)
	next.Fill(known)
	if s := next.Settings("c"); s.Model != "haiku" || s.Tools != "push_send,channel_list" || len(s.Rules) != 1 || s.Rules[0].By != "ann" || next.Fingerprint("c") != c.Fingerprint("c") {
		t.Errorf("the next cache has %+v", s)
	}
	check.OK(t, c.RemoveRule(ctx, "c", rule.ID))
	if err := c.RemoveRule(ctx, "c", rule.ID); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("remove a rule again: %v", err)
	}
	check.OK(t, c.ChangeSettings(ctx, "c", Choice{Model: &none, Tools: &none}))
	if s := c.Settings("c"); s.Model != "" || !s.HadModel || s.Tools != "" || len(s.Rules) != 0 || c.Fingerprint("c") != "" {
		t.Errorf("settings are %+v", s)
	}
	if !slices.Equal(changed, []core.ChannelKey{"c", "c", "c", "c", "c"}) {
		t.Errorf("changed = %v", changed)
	}
	check.OK(t, l.Close())
	if err := c.ChangeSettings(ctx, "c", Choice{Model: &model}); !errors.Is(err, core.ErrClosed) || c.Settings("c").Model != "" {
		t.Errorf("a change that was not written: %v, %+v", err, c.Settings("c"))
	}
}

// TestDefaults: what a channel has not chosen is the gateway's.
func TestDefaults(t *testing.T) {
	t.Parallel()
	c := New(nil, nil, core.Settings{PermissionMode: "plan", Tools: "push_send"})
	c.Fill(map[core.ChannelKey]core.Settings{
		"mode": {PermissionMode: "auto"}, "tools": {Tools: "none"}, "former": {HadPermissionMode: true},
	})
	for key, want := range map[core.ChannelKey][2]string{
		"": {"plan", "push_send"}, "none": {"plan", "push_send"}, "former": {"plan", "push_send"}, "mode": {"auto", "push_send"}, "tools": {"plan", "none"},
	} {
		if got := [2]string{c.Mode(key), string(c.Tools(key))}; got != want {
			t.Errorf("channel %q has %q, want %q", key, got, want)
		}
	}
	if own := c.OwnModes(); len(own) != 1 || own["mode"] != "auto" {
		t.Errorf("channels have the modes %v of their own", own)
	}
}
