package observe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/wait"
	"bareclaw/observe/app"
	"bareclaw/observe/discovery"
)

// replaceTime is how long an observer may take to end that another one replaces.
const replaceTime = 15 * time.Second

// IDOf returns the id of the observer of a directory: the same for each, because a directory has one at a time.
func IDOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:4])
}

// claimPause is the time between two attempts to take the lock of a directory.
const claimPause = 50 * time.Millisecond

// claim takes the lock of the directory, ends the observer that has it, and what others have left behind. Of two that begin at
// once the one ends first that has the lock first.
func (v *observer) claim(ctx context.Context) error {
	limit := fmt.Errorf("another observer of %s does not end", v.Dir)
	waiting, cancel := context.WithTimeoutCause(ctx, replaceTime, limit)
	defer cancel()
	take := func(f *os.File) error {
		return wait.Poll(waiting, claimPause, func() (bool, error) {
			err := lockfile.Try(f)
			if !errors.Is(err, lockfile.ErrHeld) {
				return true, err
			}
			return false, v.endOthers(waiting)
		})
	}
	path := filepath.Join(string(v.Records), IDOf(v.Dir)+".lock")
	lock, err := lockfile.Own(path, os.Getpid(), take)
	if err != nil {
		return fmt.Errorf("be the only observer of the directory: %w", err)
	}
	v.lock = lock
	if err := v.endOthers(waiting); err != nil { // of versions without the lock
		return errors.Join(err, lock.Close())
	}
	if err := app.Sweep(ctx, string(v.Records)); err != nil {
		v.Log.Warn("what an earlier observer has left running cannot be ended", "err", err)
	}
	return nil
}

// endOthers ends observers of the directory that can be found.
func (v *observer) endOthers(ctx context.Context) error {
	all, err := v.Records.Live()
	if err != nil {
		v.Log.Warn("a record of an observer cannot be read", "err", err)
	}
	for i := range all {
		if all[i].Dir != v.Dir {
			continue
		}
		if err := Stop(ctx, &all[i]); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends an observer and its app, and blocks until they are gone.
func Stop(ctx context.Context, r *discovery.Record) error {
	ctx, cancel := context.WithTimeout(ctx, replaceTime)
	defer cancel()
	err := proc.Signal(r.PID, r.Start, syscall.SIGTERM)
	if err == nil {
		err = proc.WaitGone(ctx, r.PID, r.Start)
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end the observer of %s, process %d: %w", r.Dir, r.PID, err)
	}
	return nil
}

// Sweep ends what observers have left running that were killed.
func Sweep(ctx context.Context, records discovery.Records) error {
	return app.Sweep(ctx, string(records))
}

// address returns the address at which people open the app.
func (v *observer) address() string { return "http://127.0.0.1:" + strconv.Itoa(portAt(v.proxyAt)) }

// publish makes the observer one that others find.
func (v *observer) publish() error {
	r := &v.record
	r.Dir = v.Dir
	r.Proxy = v.address()
	r.Port = portAt(v.apiAt)
	r.Channel = v.Channel
	r.Notify = string(v.Notify)
	r.Command = v.command()
	if v.Target != nil {
		r.Target = v.Target.String()
	}
	if err := discovery.WritePort(v.Dir, r.Port); err != nil {
		v.Log.Warn("the port of the observer cannot be written; tools find it by its record", "err", err) // a disk may be full
	}
	if err := v.Records.WriteProxyPort(r.ID, portAt(v.proxyAt)); err != nil {
		v.Log.Debug("the port of the app cannot be written, which may be another one next time", "err", err)
	}
	if err := v.Records.Write(*r); err != nil {
		return fmt.Errorf("write the record of the observer: %w", err)
	}
	return nil
}

// answersAt notes in the record where the app answers.
func (v *observer) answersAt(u *url.URL) {
	v.record.App = u.String()
	if err := v.Records.Write(v.record); err != nil {
		v.Log.Warn("the record of the observer cannot be written", "err", err) // a disk may be full
	}
}

// withdraw takes back what publish has written. What is left after an error is known to be stale by the process.
func (v *observer) withdraw() {
	_ = discovery.RemovePort(v.Dir, v.record.Port)
	_ = v.Records.Remove(v.record.ID)
}
