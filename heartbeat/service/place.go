package service

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bareclaw/internal/atomicfile"
)

// place writes files atomically unless content and mode already match. It returns a line
// for each file, and the names of the written files.
func place(files []File) (did, written []string, err error) {
	for _, f := range files {
		have, err := os.ReadFile(f.Path)
		if err == nil && bytes.Equal(have, []byte(f.Text)) {
			if info, err := os.Stat(f.Path); err == nil && info.Mode().Perm() == f.Mode {
				did = append(did, "unchanged "+f.Path)
				continue
			}
		}
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
			return did, written, fmt.Errorf("make room for %s: %w", f.Path, err)
		}
		if err := atomicfile.Write(f.Path, []byte(f.Text), f.Mode); err != nil {
			return did, written, fmt.Errorf("write %s: %w", f.Path, err)
		}
		did, written = append(did, "wrote "+f.Path), append(written, filepath.Base(f.Path))
	}
	return did, written, nil
}

// outdated lists the installed files of a job that differ from the files for spec, empty if
// none does. The environment file must only exist for the user alone.
func (d Dirs) outdated(system System, job Job, spec Spec) string {
	files, err := Files(system, job, spec, d)
	if err != nil {
		return err.Error()
	}
	var differ []string
	for _, f := range files {
		if f.Path == d.envPath(job, spec) {
			if info, err := os.Stat(f.Path); err != nil || info.Mode().Perm()&0o077 != 0 {
				differ = append(differ, f.Path+" (it must be there, and for you alone)")
			}
		} else if have, _ := os.ReadFile(f.Path); string(have) != f.Text { // a file that cannot be read differs
			differ = append(differ, f.Path)
		}
	}
	return strings.Join(differ, ", ")
}

// remove deletes the files that are there, and their directories if these are named bareclaw
// and empty. It returns a line for each file.
func remove(paths ...string) (did []string, err error) {
	for _, path := range paths {
		switch err := os.Remove(path); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return did, fmt.Errorf("remove what was installed: %w", err)
		default:
			did = append(did, "removed "+path)
		}
		if dir := filepath.Dir(path); filepath.Base(dir) == "bareclaw" {
			_ = os.Remove(dir) // fails while the directory has entries
		}
	}
	return did, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
