package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
)

// TestInForce: each setting is shown with what it is and where it comes from, and no secret is.
func TestInForce(t *testing.T) {
	dir := t.TempDir()
	users := filepath.Join(dir, "config", "bareclaw", ".env")
	check.OK(t, os.MkdirAll(filepath.Dir(users), 0o700))
	check.OK(t, os.WriteFile(users, []byte("BARECLAW_HTTP_TOKEN=sesame-sesame\nBARECLAW_PORT=4000\nBARECLAW_QUEUE_LIMIT=\nBARECLAW_TZ=Asia/Tokyo\n"), 0o600))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	t.Setenv("XDG_STATE_HOME", dir)
	t.Setenv("HOME", dir)
	t.Setenv("BARECLAW_MAX_TURNS", "7")
	t.Setenv("TZ", "UTC")
	for _, name := range []string{"BARECLAW_HTTP_TOKEN", "BARECLAW_PORT", "BARECLAW_QUEUE_LIMIT", "BARECLAW_TZ"} { // which Load sets
		t.Setenv(name, "")
		check.OK(t, os.Unsetenv(name))
	}
	before := time.Local
	defer func() { time.Local = before }()
	cfg, err := Load(AsCommand)
	check.OK(t, err)
	got := map[string]Value{}
	for _, v := range cfg.InForce() {
		got[v.Name] = v
		if strings.Contains(v.Text, "sesame") {
			t.Errorf("%s shows the token", v.Name)
		}
	}
	for name, want := range map[string]Value{
		"BARECLAW_HTTP_TOKEN":  {"", redacted, users},
		"BARECLAW_PORT":        {"", "4000", users},
		"BARECLAW_QUEUE_LIMIT": {"", "1000", FromDefault},
		"BARECLAW_MAX_TURNS":   {"", "7", fromEnvironment},
		"BARECLAW_TZ":          {"", "Asia/Tokyo", users},
		"BARECLAW_STATE_DIR":   {"", filepath.Join(dir, "bareclaw"), FromDefault},
		"BARECLAW_MODEL":       {"", "the choice of claude", FromDefault},
		"BARECLAW_CWD":         {"", dir, FromDefault},
	} {
		if want.Name = name; got[name] != want {
			t.Errorf("%+v, want %+v", got[name], want)
		}
	}
	if len(got) != len(settings()) {
		t.Errorf("%d of %d settings", len(got), len(settings()))
	}
	if time.Local.String() != "Asia/Tokyo" || os.Getenv("TZ") != "Asia/Tokyo" {
		t.Errorf("the local zone is %s, TZ is %s", time.Local, os.Getenv("TZ"))
	}
}
