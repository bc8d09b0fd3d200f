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
	// pruneEvery is the time between two searches for old files.
	pruneEvery = time.Hour
	// partAge is the age at which no download can still write an unfinished file.
	partAge = time.Hour
)

// Prune removes old files now and then, until ctx ends. Files of any age are kept if
// maxAge is 0.
func (d *Downloader) Prune(ctx context.Context, maxAge time.Duration) {
	for ctx.Err() == nil {
		if err := prune(d.Dir, maxAge, time.Now()); err != nil {
			d.Log.Warn("telegram: old files are not removed", "err", err)
		}
		tasks.Pause(ctx, pruneEvery)
	}
}

// prune removes files older than maxAge unless that is 0, unfinished files, and empty
// directories.
func prune(dir string, maxAge time.Duration, now time.Time) error {
	var dirs []string
	if at, err := filepath.EvalSymlinks(dir); err == nil {
		dir = at // the link to another disk is not an old file
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
		age, err := ageOf(e, now)
		if err != nil {
			return err
		}
		if maxAge > 0 && age > maxAge || strings.HasSuffix(path, unfinished) && age > partAge {
			return os.Remove(path)
		}
		return nil
	})
	for _, d := range dirs {
		if st, err := os.Stat(d); err == nil && now.Sub(st.ModTime()) > partAge { // a download may be about to use a new one
			_ = os.Remove(d) // fails unless it is empty
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there is none yet, or another process removes files too
	}
	return err
}

func ageOf(e fs.DirEntry, now time.Time) (time.Duration, error) {
	info, err := e.Info()
	if err != nil {
		return 0, err
	}
	return now.Sub(info.ModTime()), nil
}
