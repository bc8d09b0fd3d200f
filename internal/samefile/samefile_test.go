package samefile

import (
	"os"
	"path/filepath"
	"testing"

	"bareclaw/internal/testkit/check"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	check.OK(t, os.WriteFile(file, nil, 0o600))
	link := filepath.Join(dir, "link")
	check.OK(t, os.Symlink("file", link))
	hard := filepath.Join(dir, "hard")
	check.OK(t, os.Link(file, hard))
	other := filepath.Join(dir, "other")
	check.OK(t, os.WriteFile(other, nil, 0o600))
	missing := filepath.Join(dir, "missing")
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{file, file, true},
		{file, link, true},
		{hard, file, true},
		{dir, dir + "/.", true},
		{file, other, false},
		{file, missing, false},
		{missing, missing, false},
		{"", "", false},
	} {
		if got := Paths(c.a, c.b); got != c.want {
			t.Errorf("Paths(%q, %q) = %v", c.a, c.b, got)
		}
	}
}
