package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"bareclaw/adapters/httpapi"
	"bareclaw/internal/peercred"
	"bareclaw/internal/privatedir"
	"bareclaw/internal/proc"
)

const (
	// succeedTimeout is how long the next worker may take to serve after this worker has
	// released everything, including a second worker if the first fails.
	succeedTimeout = 75 * time.Second
	// lateGrace is how long a worker that has released everything still answers late
	// requests on connections that clients keep alive.
	lateGrace = 5 * time.Second
)

// handOver releases everything to another worker, and returns when the requests that are
// held here have been answered. Where no other worker serves in time, the requests are
// answered as if the gateway ended.
func (d *daemon) handOver(signals <-chan os.Signal) error {
	began := time.Now()
	d.leaving()
	d.log.Info("handing over")
	d.parent.Notify(sd.SdNotifyReloading + "\n" + sd.SdNotifyMonotonicUsec())
	_ = d.parts.stop(handingOver)
	writeFeeds := d.engine.saveFeeds()
	told := untilTold(signals)
	ctx, cancel := context.WithTimeoutCause(told, succeedTimeout, fmt.Errorf("no other process served within %s", succeedTimeout))
	defer cancel()
	inner, err := d.parent.Release(ctx)
	d.unwatch()
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
	d.answerHeld(told)
	<-written
	return nil
}

// untilTold returns a context that ends when a signal tells the process to end.
func untilTold(signals <-chan os.Signal) context.Context {
	ctx, end := context.WithCancelCause(context.Background())
	go func() { // ends with the process
		for sig := range signals {
			if sig != syscall.SIGHUP { // which is meant for the next worker
				end(errors.New("told to end"))
			}
		}
	}()
	return ctx
}

// answerHeld returns when every request that is held has been answered by the next worker,
// or the gateway ends.
func (d *daemon) answerHeld(told context.Context) {
	answered := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	late := time.AfterFunc(lateGrace, func() { answered <- d.http.server.Shutdown(ctx, httpapi.Restarting) })
	defer late.Stop()
	select {
	case err := <-answered:
		if err != nil {
			d.log.Warn("requests cut", "err", err)
		}
	case <-told.Done():
		d.http.drain(httpapi.ShuttingDown)
	case <-d.parent.Gone():
		d.http.drain(httpapi.ShuttingDown)
	}
}

// serveHeld serves the requests held by the previous worker on a Unix socket, and returns
// the socket's path; empty without a previous worker, or if the socket cannot be opened.
func (d *daemon) serveHeld() (path string) {
	if !d.parent.IsHeir() {
		left, _ := filepath.Glob(filepath.Join(d.cfg.RuntimeDir(), "handover-*.sock")) // none where the directory's name is no pattern
		for _, path := range left {                                                    // of killed workers
			_ = os.Remove(path) // what stays is tried again
		}
		return ""
	}
	if !proc.Alive(d.predecessor.PID, d.predecessor.Start) {
		return "" // nobody waits for it
	}
	path = filepath.Join(d.cfg.RuntimeDir(), fmt.Sprintf("handover-%d.sock", os.Getpid()))
	l, err := privatedir.Listen(path) // in the place of a process that was killed and had the same pid
	if err != nil {
		d.log.Error("requests of the process before are answered as if the gateway ended", "err", err)
		return ""
	}
	d.closers = append(d.closers, func() { _ = l.Close() })
	go func() { // ends when the server is shut down, or l is closed
		if err := d.http.server.ServeInner(heldListener{Listener: l, pid: d.predecessor.PID, log: d.log}); err != nil {
			d.log.Error("requests of the process before are not served", "err", err)
		}
	}()
	go func() { // ends with the process before, or with this one
		if err := proc.WaitGone(context.Background(), d.predecessor.PID, d.predecessor.Start); err != nil {
			d.log.Warn("the socket for requests of the process before is closed early", "err", err)
		}
		_ = l.Close()
	}()
	return path
}

// A heldListener accepts connections of one process alone: what it serves is not checked again.
type heldListener struct {
	net.Listener

	pid int
	log *slog.Logger
}

// Accept waits for a connection of the process.
func (l heldListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		pid := 0
		conn, err := peercred.SameUser(c)
		if err == nil {
			pid, err = peercred.UnixPID(conn)
		}
		if err == nil && pid == l.pid {
			return c, nil
		}
		l.log.Debug("connection of another process than the one before refused", "pid", pid, "err", err)
		_ = c.Close()
	}
}
