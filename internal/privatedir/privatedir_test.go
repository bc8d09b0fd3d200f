package privatedir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

func TestMake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode  os.FileMode // 0: it is not there yet
		holds string
		want  string // in the error; empty: there is none
	}{
		"new":                {0, "", ""},
		"private":            {0o700, "", ""},
		"private and shared": {0o700, "letters.txt", ""},
		"empty":              {0o755, "", "chmod 700 "},
		"of a gateway":       {0o750, "api.sock", "chmod 700 "},
		"not to be written":  {0o500, "", "chmod 700 "},
		"a home":             {0o755, "letters.txt", "set VARIABLE to a directory for the gateway alone, such as "},
		"temporary files":    {0o777 | os.ModeSticky, "api.sock", "set VARIABLE to a directory for the gateway alone, such as "},
		"for everybody":      {0o777, "", "set VARIABLE to a directory for the gateway alone, such as "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "a", "dir")
			if c.mode != 0 {
				check.OK(t, os.MkdirAll(dir, 0o700))
			}
			if c.holds != "" {
				check.OK(t, os.WriteFile(filepath.Join(dir, c.holds), nil, 0o600))
			}
			if c.mode != 0 {
				check.OK(t, os.Chmod(dir, c.mode))
			}
			err := Make(dir, "VARIABLE")
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
			want := c.mode
			if want == 0 {
				want = 0o700
			}
			if info, err := os.Stat(dir); err != nil || info.Mode() != want|os.ModeDir {
				t.Errorf("it has mode %v (%v), want %v", info.Mode(), err, want)
			}
		})
	}
	link := filepath.Join(t.TempDir(), "link")
	check.OK(t, os.Symlink(t.TempDir(), link))
	if err := Make(link, "VARIABLE"); err == nil || !strings.Contains(err.Error(), "set VARIABLE to a directory") {
		t.Errorf("a symbolic link: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	check.OK(t, os.WriteFile(file, nil, 0o600))
	if err := Make(file, "VARIABLE"); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a file: %v", err)
	}
}

func TestCheckSocketDir(t *testing.T) {
	t.Parallel()
	fits := "/" + strings.Repeat("d", MaxSocketDir-1)
	if err := CheckSocketDir(fits); err != nil {
		t.Error(err)
	}
	if path := filepath.Join(fits, longestSocketName); len(path) != maxSocketPath {
		t.Errorf("the longest path has %d bytes", len(path))
	}
	if err := CheckSocketDir(fits + "d"); err == nil {
		t.Error("no error for one that is too long")
	}
}
