package runner

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settleTime is how long changes of files are gathered: editors write a file in steps.
	settleTime = 100 * time.Millisecond
	// slowPoll is how often the directory is read where nothing tells of changes, as on a
	// network file system.
	slowPoll = 5 * time.Second
)

// watch loads files as they change, until ctx ends.
func (l *loader) watch(ctx context.Context) {
	var events chan fsnotify.Event // nil without a watcher
	var errs chan error
	w, err := fsnotify.NewWatcher()
	if err == nil {
		defer func() { _ = w.Close() }()
		events, errs = w.Events, w.Errors
		err = w.Add(l.dir)
	}
	if err != nil {
		l.log.Warn("changed files are found after some seconds only", "err", err)
	}
	settled := time.NewTimer(slowPoll)
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			if !e.Has(fsnotify.Chmod) {
				settled.Reset(settleTime)
			}
		case err := <-errs: // events may be lost
			l.log.Warn("watching the tools directory", "err", err)
			settled.Reset(settleTime)
		case <-settled.C:
			l.load(ctx)
			settled.Reset(slowPoll)
		}
	}
}
