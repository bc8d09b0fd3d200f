package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"bareclaw/internal/testkit/check"
)

// TestWriteReplacesContentsAndMode: an existing file gets the mode that is asked for, and
// no temporary file stays.
func TestWriteReplacesContentsAndMode(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(string, []byte, fs.FileMode) error{"Write": Write, "WriteSoon": WriteSoon} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testWrite(t, write)
		})
	}
}

func testWrite(t *testing.T, write func(string, []byte, fs.FileMode) error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	check.OK(t, os.WriteFile(path, []byte("old"), 0o644))
	check.OK(t, write(path, []byte("new"), 0o600))
	b, err := os.ReadFile(path)
	if err != nil || string(b) != "new" {
		t.Errorf("the file has %q, %v", b, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}

// TestEnsure: a file with other contents is replaced, and one that has them is left alone.
func TestEnsure(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	for _, before := range []string{"", "ol", "old", "olds"} {
		check.OK(t, os.WriteFile(path, []byte(before), 0o600))
		was, err := os.Stat(path)
		check.OK(t, err)
		check.OK(t, Ensure(path, []byte("old"), 0o600))
		is, err := os.Stat(path)
		check.OK(t, err)
		if os.SameFile(was, is) != (before == "old") {
			t.Errorf("%q: the same file: %v", before, os.SameFile(was, is))
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != "old" {
			t.Errorf("%q became %q, %v", before, b, err)
		}
	}
}
