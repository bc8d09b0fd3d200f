package observe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"time"

	"bareclaw/internal/proc"
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

// replace ends the observer that the directory has, what others have left behind, and returns the port of
// the proxy that the directory had; 0: none.
func (v *observer) replace(ctx context.Context) (port int, err error) {
	all, err := v.Records.All()
	if err != nil {
		v.Log.Warn("a record of an observer cannot be read", "err", err)
	}
	for i := range all {
		r := &all[i]
		if r.Dir != v.Dir {
			continue
		}
		port = proxyPort(r)
		if !r.Alive() {
			continue
		}
		if err := Stop(ctx, r); err != nil {
			return 0, err
		}
	}
	if err := app.Sweep(ctx, string(v.Records)); err != nil {
		v.Log.Warn("what an earlier observer has left running cannot be ended", "err", err)
	}
	return port, nil
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

// proxyPort returns the port of the proxy of an observer; 0: it is unknown.
func proxyPort(r *discovery.Record) int {
	u, err := url.Parse(r.Proxy)
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(u.Port()) // 0 after an error
	return port
}

// publish makes the observer one that others find.
func (v *observer) publish() error {
	r := &v.record
	r.Dir = v.Dir
	r.Proxy = "http://127.0.0.1:" + strconv.Itoa(portAt(v.proxyAt))
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
	if err := v.Records.Write(*r); err != nil {
		return fmt.Errorf("write the record of the observer: %w", err)
	}
	return nil
}

// withdraw takes back what publish has written. What is left after an error is known to be stale by the process.
func (v *observer) withdraw() {
	_ = discovery.RemovePort(v.Dir, v.record.Port)
	_ = v.Records.Remove(v.record.ID)
}
