package service

import (
	"bareclaw/internal/atomicfile"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// place writes f atomically unless content and mode already match, and describes the
// result.
func place(f File) (did string, changed bool, err error) {
	have, err := os.ReadFile(f.Path)
	if err == nil && bytes.Equal(have, []byte(f.Text)) {
		if info, err := os.Stat(f.Path); err == nil && info.Mode().Perm() == f.Mode {
			return "unchanged " + f.Path, false, nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
		return "", false, fmt.Errorf("make room for %s: %w", f.Path, err)
	}
	if err := atomicfile.Write(f.Path, []byte(f.Text), f.Mode); err != nil {
		return "", false, fmt.Errorf("write %s: %w", f.Path, err)
	}
	return "wrote " + f.Path, true, nil
}

// differing lists the installed files of a job that differ, by same, from the files to
// install; empty if none does. The environment file must only exist for the user alone.
func differing(files []File, env string, same func(f File, have string) bool) string {
	var differ []string
	for _, f := range files {
		if f.Path == env {
			if info, err := os.Stat(f.Path); err != nil || info.Mode().Perm()&0o077 != 0 {
				differ = append(differ, f.Path+" (it must be there, and for you alone)")
			}
		} else if have, _ := os.ReadFile(f.Path); !same(f, string(have)) { // a file that cannot be read differs
			differ = append(differ, f.Path)
		}
	}
	return strings.Join(differ, ", ")
}

// remove deletes the file at path, if present, and describes the deletion.
func remove(path string) (did []string, err error) {
	switch err := os.Remove(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("remove what was installed: %w", err)
	}
	return []string{"removed " + path}, nil
}

// removeAll deletes files and their directories of our own, and describes the deletions.
func removeAll(paths ...string) (did []string, err error) {
	for _, path := range paths {
		gone, err := remove(path)
		if did = append(did, gone...); err != nil {
			return did, err
		}
		tidy(path)
	}
	return did, nil
}

// tidy removes the parent directory of path if the directory is named bareclaw and
// empty.
func tidy(path string) {
	if dir := filepath.Dir(path); filepath.Base(dir) == "bareclaw" {
		_ = os.Remove(dir) // fails while the directory has entries
	}
}

// exists reports whether path exists; symbolic links are not followed.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
