package toolhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"bareclaw/internal/atomicfile"
	"bareclaw/toolhost/api"
)

// toolFiles are the tools directory and its snapshots. All methods are safe for concurrent use,
// but for those that say so.
type toolFiles struct {
	tools string // the tools directory
	dir   string // of the snapshots
	keep  int    // how many snapshots are kept, beside the initial one
	good  *goodFiles

	changing sync.Mutex // held while files change
}

func newToolFiles(tools string, keep int, log *slog.Logger) *toolFiles {
	return &toolFiles{tools: tools, dir: api.SnapshotsDir(tools), keep: keep, good: newGoodFiles(tools, log)}
}

// write replaces a file of the tools directory.
func (f *toolFiles) write(name string, contents []byte) error {
	f.changing.Lock()
	defer f.changing.Unlock()
	return atomicfile.Write(filepath.Join(f.tools, name), contents, 0o600)
}

// remove removes the file of a tool, or notes that a built-in tool is deleted.
func (f *toolFiles) remove(t api.Tool) error {
	f.changing.Lock()
	defer f.changing.Unlock()
	if t.File != "" {
		return os.Remove(filepath.Join(f.tools, filepath.Base(t.File)))
	}
	path := filepath.Join(f.tools, api.DeletedFile)
	list, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(list) > 0 && list[len(list)-1] != '\n' { // a person has written it
		list = append(list, '\n')
	}
	return atomicfile.Write(path, append(list, t.Name+"\n"...), 0o600)
}

// finish completes a rollback that was cut, removes what cut copies have left, and makes a missing
// tools directory.
func (f *toolFiles) finish() error {
	f.changing.Lock()
	defer f.changing.Unlock()
	return f.tidy()
}

// tidy is finish for a caller that holds the lock.
func (f *toolFiles) tidy() error {
	for _, what := range []string{"next", "old"} {
		if left := f.beside(what); !isThere(f.tools) && isThere(left) {
			if err := os.Rename(left, f.tools); err != nil {
				return fmt.Errorf("finish the rollback of the tools: %w", err)
			}
		}
	}
	for _, rest := range []string{f.unfinished(), f.beside("part"), f.beside("next"), f.beside("old")} {
		_ = removeTree(rest) // does no harm
	}
	if err := os.MkdirAll(f.tools, 0o700); err != nil {
		return fmt.Errorf("make the tools directory (BARECLAW_TOOLS_DIR): %w", err)
	}
	_ = f.good.make() // without it tools end with broken files
	return nil
}

// copyTree copies a directory to a new one, with all modes, until ctx ends: a large directory must not
// hold up the end of the gateway.
func copyTree(ctx context.Context, from, to string) error {
	st, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	if err := copyEntries(ctx, from, to); err != nil {
		return err
	}
	return os.Chmod(to, st.Mode()) // last: the mode may forbid writing
}

// copyEntries copies all files, directories and symbolic links of a directory.
func copyEntries(ctx context.Context, from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		switch e.Type() {
		case 0:
			err = copyFile(source, target)
		case fs.ModeDir:
			err = copyTree(ctx, source, target)
		case fs.ModeSymlink:
			var path string
			if path, err = os.Readlink(source); err == nil {
				err = os.Symlink(path, target)
			}
		default: // a pipe or socket is no part of a tool
		}
		if err != nil && isThere(source) { // an editor may have removed its temporary file
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(st.Mode()), out.Sync(), out.Close())
}

// removeTree removes a directory with all in it, also if modes forbid that.
func removeTree(path string) error {
	_ = filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = os.Chmod(path, 0o700) //nolint:gosec // nobody but this user writes there
		}
		return err
	}) // RemoveAll reports errors
	return os.RemoveAll(path)
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
