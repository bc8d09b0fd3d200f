package runner

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"bareclaw/internal/guard"
	"bareclaw/toolhost/api"
)

const (
	// settleTime is how long changes of files are gathered: editors write a file in steps.
	settleTime = 100 * time.Millisecond
	// slowPoll is how often the directory is read where nothing tells of changes, as on a
	// network file system.
	slowPoll = 5 * time.Second
	// longestSettling is how long changes of files are gathered at most, while more come.
	longestSettling = time.Second
)

// watch returns a watcher of a directory; nil with an error.
func watch(dir string) (*fsnotify.Watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := w.Add(dir); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// follow loads all files, and then those that change, until ctx ends. Without a watcher it finds
// changes after some seconds.
func (l *loader) follow(ctx context.Context, w *fsnotify.Watcher) {
	var events chan fsnotify.Event // nil without a watcher
	var errs chan error
	if w != nil {
		defer func() { _ = w.Close() }()
		events, errs = w.Events, w.Errors
	}
	load := func() (next time.Duration) {
		next = slowPoll
		_ = guard.Do(l.log, "reading the tools directory", func() error {
			if l.load() {
				next = 0
			}
			return nil
		})
		return next
	}
	settled := time.NewTimer(load()) // after the watcher is there: no change escapes
	defer settled.Stop()
	for first := (time.Time{}); ; { // when the first of the gathered changes came; zero: there is none
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			if !concerns(filepath.Base(e.Name)) {
				continue
			}
			if first.IsZero() {
				first = time.Now()
			}
			settled.Reset(min(settleTime, time.Until(first.Add(longestSettling))))
		case err := <-errs: // events may be lost
			l.log.Warn("watching the tools directory", "err", err)
			settled.Reset(settleTime)
		case <-settled.C:
			first = time.Time{}
			settled.Reset(load())
		}
	}
}

// concerns reports whether tools, or what is said of them, depend on a file, by its name.
func concerns(name string) bool { return isToolFile(name) || isStray(name) || name == api.DeletedFile }
