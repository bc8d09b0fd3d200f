package telegram

import (
	"bareclaw/adapters/telegram/records"
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
	// sweepPause is how often old files are looked for.
	sweepPause = time.Hour
	// partAge is the age from which on nobody can be at work on an unfinished file.
	partAge = time.Hour
)

// sweepMedia removes old files, now and then, until ctx ends.
func (a *Adapter) sweepMedia(ctx context.Context) {
	for ctx.Err() == nil {
		if err := sweep(a.mediaDir(), a.o.MediaMaxAge, time.Now()); err != nil {
			a.o.Log.Warn("telegram: old files are not removed", "err", err)
		}
		tasks.Pause(ctx, sweepPause)
	}
}

// sweep removes files that are older than maxAge, if that is not zero, what was
// never finished, and the directories that are empty then.
func sweep(dir string, maxAge time.Duration, now time.Time) error {
	var dirs []string
	if at, err := filepath.EvalSymlinks(dir); err == nil {
		dir = at // it may be on another disk, and then the link to it is no old file
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
		if st, err := os.Stat(d); err == nil && now.Sub(st.ModTime()) > partAge { // or one might be about to be used
			_ = os.Remove(d) // fails unless it is empty, which is meant
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there is none yet, or somebody else removes files too
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

// pruneEvery is the time between two removals of old records.
const pruneEvery = time.Hour

// pruneRecords removes records that are too old to be of use, until ctx ends.
func (a *Adapter) pruneRecords(ctx context.Context) {
	for ctx.Err() == nil {
		a.records.Warn(ctx, "old records are kept", a.o.Core.ForgetRecords(ctx, records.Expired(time.Now())...))
		tasks.Pause(ctx, pruneEvery)
	}
}
