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
	saved, err := d.manager.SaveFeeds()
	if err == nil && saved != nil {
		err = os.WriteFile(d.feedsPath(d.generation), saved, 0o600)
	}
	if err != nil {
		d.log.Warn("streams cannot be resumed by the next process", "err", err)
	}
}

// restoreFeeds takes up what the process before this one has left, and removes it
// with whatever older ones have.
func (d *daemon) restoreFeeds() {
	saved, err := os.ReadFile(d.feedsPath(d.generation - 1))
	left, _ := filepath.Glob(filepath.Join(d.cfg.RuntimeDir, "feeds-*.json")) // none where the directory's name is no pattern
	for _, path := range left {
		_ = os.Remove(path) // what stays is not asked for again
	}
	if err == nil {
		err = d.manager.RestoreFeeds(context.Background(), saved)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Warn("streams of the earlier process cannot be resumed", "err", err)
	}
}
