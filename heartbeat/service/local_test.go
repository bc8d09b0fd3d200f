package service

import (
	"os"
	"path/filepath"
	"testing"

	"bareclaw/internal/testkit/check"
)

// TestWorkingDir is not parallel: it changes the directory and the home.
func TestWorkingDir(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(project)
	if got, err := WorkingDir(); err != nil || got != home {
		t.Errorf("without a .env it is %q, %v; want the home %s", got, err, home)
	}
	check.OK(t, os.WriteFile(filepath.Join(project, ".env"), nil, 0o600))
	if got, err := WorkingDir(); err != nil || got != project {
		t.Errorf("with a .env it is %q, %v; want %s", got, err, project)
	}
	check.OK(t, os.Remove(filepath.Join(project, ".env")))
	t.Setenv("HOME", "")
	if got, err := WorkingDir(); err == nil {
		t.Errorf("without a home it is %q", got)
	}
}
