package media

import (
	"bareclaw/adapters/telegram/tasks"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// pruneEvery is the interval between two prunes.
	pruneEvery = time.Hour
	// partAge is the age beyond which no download can still be writing an unfinished
	// file.
	partAge = time.Hour
)

// Prune removes old files once per hour until ctx ends. A maxAge of 0 keeps files of any
// age.
func (d *Downloader) Prune(ctx context.Context, maxAge time.Duration) {
	for ctx.Err() == nil {
		if err := prune(d.Dir, maxAge, time.Now()); err != nil {
			d.Log.Warn("telegram: old files are not removed", "err", err)
		}
		tasks.Pause(ctx, pruneEvery)
	}
}

// prune removes files older than maxAge unless maxAge is 0, stale unfinished files, and
// empty directories.
func prune(dir string, maxAge time.Duration, now time.Time) error {
	var dirs []string
	if at, err := filepath.EvalSymlinks(dir); err == nil {
		dir = at // resolve a link to another disk instead of removing the link
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if path != dir {
				dirs = append(dirs, path)
			}
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		age := now.Sub(info.ModTime())
		if maxAge > 0 && age > maxAge || strings.HasSuffix(path, unfinished) && age > partAge {
			return os.Remove(path)
		}
		return nil
	})
	for _, d := range dirs {
		if st, err := os.Stat(d); err == nil && now.Sub(st.ModTime()) > partAge { // a download may be about to use a new directory
			_ = os.Remove(d) // fails unless the directory is empty
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no directory yet, or another process removes files too
	}
	return err
}
