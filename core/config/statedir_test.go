package config

import (
	"os"
	"path/filepath"
	"testing"

	"bareclaw/internal/testkit/check"
)

func TestStateDirOf(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("BARECLAW_STATE_DIR", "/of/this/process")
	write := func(path, text string) {
		t.Helper()
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	want := func(want string, environ ...string) {
		t.Helper()
		if got, err := StateDirOf(dir, environ); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", environ, got, err, want)
		}
	}
	want(home+"/.local/state/bareclaw", "PATH=/bin")
	want("/x/bareclaw", "XDG_STATE_HOME=/x")
	want(dir+"/own", "XDG_STATE_HOME=/x", "BARECLAW_STATE_DIR=own")
	write(filepath.Join(home, ".config/bareclaw/.env"), "BARECLAW_STATE_DIR=~/user\n")
	want(home + "/user")
	write(filepath.Join(dir, ".env"), "BARECLAW_STATE_DIR=/work\n")
	want("/work")
	want("/env", "BARECLAW_STATE_DIR=/env")
	write(filepath.Join(dir, ".env"), "rubbish '\n")
	if got, err := StateDirOf(dir, nil); err == nil {
		t.Errorf("with a .env that cannot be understood: %q", got)
	}
}
