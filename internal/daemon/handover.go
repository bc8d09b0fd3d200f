package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"bareclaw/adapters/httpapi"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
)

const (
	// succeedTimeout is how long another worker may take to serve when this one has released
	// everything, also a second one after a first has failed.
	succeedTimeout = 75 * time.Second
	// lateGrace is how long a worker that has released everything goes on answering what
	// comes late on connections that clients keep alive.
	lateGrace = 5 * time.Second
	// lookEvery is how often the worker looks meanwhile whether another one is there.
	lookEvery = 100 * time.Millisecond
)

// handOver releases everything to another worker, and returns when the requests that are
// held here have been answered. Where no other worker serves in time, the requests are
// answered as if the gateway ended.
func (d *daemon) handOver(signals <-chan os.Signal) error {
	began := time.Now()
	d.leaving()
	d.log.Info("handing over")
	d.watchdog.excuse(endGrace + succeedTimeout)
	d.parent.Notify(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", sd.SdNotifyReloading, monotonicMicros()))
	_ = d.parts.stop(handingOver)
	writeFeeds := d.engine.saveFeeds()
	inner, err := d.release(signals)
	d.watchdog.rest()
	if err != nil {
		d.http.server.Forward("", "")
		d.http.drain(httpapi.Restarting)
		return fmt.Errorf("hand over: %w", err)
	}
	written := make(chan struct{})
	go func() { // ends with what is to be written; waited for below
		defer close(written)
		writeFeeds()
	}()
	d.http.server.Forward(inner, d.sockets.apiSocket())
	d.log.Info("handed over", "took", time.Since(began))
	d.answerHeld(signals)
	<-written
	return nil
}

// release blocks until another worker serves, whose socket for held requests it returns, or
// the gateway is told to end.
func (d *daemon) release(signals <-chan os.Signal) (path string, err error) {
	timeout, cancel := context.WithTimeoutCause(context.Background(), succeedTimeout, fmt.Errorf("no other process served within %s", succeedTimeout))
	defer cancel()
	ctx, end := context.WithCancelCause(timeout)
	defer end(nil)
	go func() { // ends with ctx
		for {
			select {
			case sig := <-signals:
				if sig != syscall.SIGHUP {
					end(errors.New("told to end"))
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return d.parent.Release(ctx)
}

// answerHeld returns when every request that is held has been answered by the next worker,
// or nobody is left to answer, or a signal asks not to wait.
func (d *daemon) answerHeld(signals <-chan os.Signal) {
	answered := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	late := time.NewTimer(lateGrace)
	defer late.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-late.C:
			go func() { answered <- d.http.server.Shutdown(ctx, httpapi.Restarting) }() // ends at the latest when this returns
		case err := <-answered:
			if err != nil {
				d.log.Warn("requests cut", "err", err)
			}
			return
		case <-look.C:
			if h, err := lockfile.ReadHolder(filepath.Join(d.cfg.StateDir, lockfile.StateLockName)); err != nil || !proc.Alive(h.Worker, h.WorkerStart) {
				d.http.drain(httpapi.Restarting)
				return
			}
		case sig := <-signals:
			if sig != syscall.SIGHUP { // which was meant for the next worker
				d.http.drain(httpapi.ShuttingDown)
				return
			}
		case <-d.parent.Gone():
			d.http.drain(httpapi.ShuttingDown)
			return
		}
	}
}

// serveHeld serves the requests that the worker before holds, on a socket whose path
// serveHeld returns, empty if there is no such worker or no socket.
func (d *daemon) serveHeld() (path string) {
	if !d.parent.IsHeir() {
		left, _ := filepath.Glob(filepath.Join(d.cfg.RuntimeDir, "handover-*.sock")) // none where the directory's name is no pattern
		for _, path := range left {                                                  // of killed workers
			_ = os.Remove(path) // what stays is tried again
		}
		return ""
	}
	path = filepath.Join(d.cfg.RuntimeDir, fmt.Sprintf("handover-%d.sock", os.Getpid()))
	_ = os.Remove(path) // of a process that was killed and had the same pid; Listen reports anything else
	l, err := net.Listen("unix", path)
	if err == nil {
		d.closers = append(d.closers, func() { _ = l.Close() })
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		d.log.Error("requests of the process before are answered as if the gateway ended", "err", err)
		return ""
	}
	go func() { // ends when the server is shut down
		if err := d.http.server.ServeInner(l); err != nil {
			d.log.Error("requests of the process before are not served", "err", err)
		}
	}()
	return path
}

// monotonicMicros is the time that systemd compares a reload's end with.
func monotonicMicros() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return ts.Nano() / 1000
}
