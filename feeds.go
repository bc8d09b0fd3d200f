package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// feedsPath is where the process of that generation leaves what it knows of the
// streams. The name says whose it is: only the very next process can go on there.
func (d *daemon) feedsPath(generation int64) string {
	return filepath.Join(d.cfg.RuntimeDir, fmt.Sprintf("feeds-%d.json", generation))
}

// saveFeeds leaves what clients need that connect again. Without it they are told
// that events may be missing.
func (d *daemon) saveFeeds() {
	path := d.feedsPath(d.generation)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = errors.Join(d.manager.SaveFeeds(f), f.Close())
	}
	if err != nil {
		d.log.Warn("streams cannot be resumed by the next process", "err", err)
		_ = os.Remove(path)
	}
}

// restoreFeeds takes up what the process before this one has left. It is removed
// first: what is found there later would be out of date.
func (d *daemon) restoreFeeds() {
	left, err := os.Open(d.feedsPath(d.generation - 1))
	if err == nil {
		defer func() { _ = left.Close() }()
	}
	all, _ := filepath.Glob(filepath.Join(d.cfg.RuntimeDir, "feeds-*.json")) // a pattern that is right
	for _, path := range all {
		err = errors.Join(err, os.Remove(path))
	}
	if err == nil {
		err = d.manager.RestoreFeeds(context.Background(), left)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Warn("streams of the earlier process cannot be resumed", "err", err)
	}
}
