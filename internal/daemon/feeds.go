package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bareclaw/core/feed"
	"bareclaw/internal/lockfile"
)

const (
	// updatesTimeout bounds how long a client that comes back waits until the earlier
	// process has written what that client has not seen.
	updatesTimeout = 10 * time.Second
	// updatesLook is how often that is looked at.
	updatesLook = 5 * time.Millisecond
	// updatesKept is how long the file of updates stays open: a feed that nobody listens to
	// is kept as long.
	updatesKept = 2 * time.Minute
)

// feedsPath is where the process of that generation leaves what it knows of the
// streams. The name says whose it is: only the very next process can go on there.
func (e *engine) feedsPath(generation int64) string {
	return filepath.Join(e.cfg.RuntimeDir, fmt.Sprintf("feeds-%d.json", generation))
}

// updatesPath is where the process of that generation leaves the updates of the streams. It
// is locked until they are all there.
func (e *engine) updatesPath(generation int64) string {
	return filepath.Join(e.cfg.RuntimeDir, fmt.Sprintf("feeds-%d.updates", generation))
}

// saveFeeds leaves what clients need that connect again, but for the updates themselves,
// which the returned function writes: the next process serves meanwhile. Without them
// clients are told that events may be missing.
func (e *engine) saveFeeds() (write func()) {
	feeds, updates, err := e.beginFeeds()
	if err != nil {
		e.log.Warn("streams cannot be resumed by the next process", "err", err)
	}
	return func() {
		if updates == nil { // there is nothing to write
			return
		}
		if err := errors.Join(feeds.WriteUpdates(updates), updates.Close()); err != nil {
			e.log.Warn("streams cannot be resumed by the next process", "err", err)
		}
	}
}

// beginFeeds writes the index of the streams, and locks the file for their updates. The file
// is nil if there are no updates.
func (e *engine) beginFeeds() (feeds *feed.Snapshot, updates *os.File, err error) {
	if feeds, err = e.manager.SaveFeeds(); err != nil || feeds == nil {
		return nil, nil, err
	}
	if updates, err = os.OpenFile(e.updatesPath(e.generation), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return nil, nil, err
	}
	if err = lockfile.Try(updates); err == nil {
		err = os.WriteFile(e.feedsPath(e.generation), feeds.Index, 0o600) // not before: who finds it finds the lock
	}
	if err != nil {
		_ = updates.Close()
		return nil, nil, err
	}
	return feeds, updates, nil
}

// restoreFeeds takes up what the process before this one has left, and removes it
// with whatever older ones have.
func (e *engine) restoreFeeds() {
	index, err := os.ReadFile(e.feedsPath(e.generation - 1))
	var updates *os.File
	if err == nil {
		updates, err = os.Open(e.updatesPath(e.generation - 1))
	}
	left, _ := filepath.Glob(filepath.Join(e.cfg.RuntimeDir, "feeds-*")) // none where the directory's name is no pattern
	for _, path := range left {
		_ = os.Remove(path) // what stays is not asked for again
	}
	if err == nil {
		time.AfterFunc(updatesKept, func() { _ = updates.Close() })
		err = e.manager.RestoreFeeds(index, func() (*io.SectionReader, error) { return awaitUpdates(e.life, updates) })
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.log.Warn("streams of the earlier process cannot be resumed", "err", err)
	}
}

// awaitUpdates returns the file once the earlier process does not write it any more, be it
// that it has ended.
func awaitUpdates(ctx context.Context, f *os.File) (*io.SectionReader, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, updatesTimeout, fmt.Errorf("the earlier process did not write them within %s", updatesTimeout))
	defer cancel()
	tick := time.NewTicker(updatesLook)
	defer tick.Stop()
	for {
		if _, err := f.Stat(); err != nil { // it was closed
			return nil, err
		}
		switch err := lockfile.Try(f); {
		case err == nil:
			st, err := f.Stat()
			if err != nil {
				return nil, err
			}
			return io.NewSectionReader(f, 0, st.Size()), nil
		case !errors.Is(err, lockfile.ErrHeld):
			return nil, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
