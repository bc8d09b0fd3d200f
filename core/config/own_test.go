package config

import (
	"slices"
	"testing"
)

// TestNeverSent: nothing of the user's settings is sent, unless claude works there.
func TestNeverSent(t *testing.T) {
	t.Parallel()
	c := Config{
		Files:     Files{StateDir: "/s", RuntimeDir: "/r"},
		UserDir:   "/u",
		ConfigDir: "/home/ann/.config/bareclaw",
	}
	for cwd, all := range map[Directory]bool{"/home/ann/work": true, "/home/ann": true, "/home/ann/.config": false, "/home/ann/.config/app": false} {
		c.Files.CWD = cwd
		if got := c.NeverSent(); slices.Contains(got, "/home/ann/.config") != all || !slices.Contains(got, c.ConfigDir) {
			t.Errorf("%s: %v", cwd, got)
		}
	}
	c.ConfigDir = c.StateDir() // which stands for an unknown one
	if got := c.NeverSent(); slices.Contains(got, "/") {
		t.Errorf("without a home: %v", got)
	}
}
