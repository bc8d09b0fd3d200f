package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
)

// A watchdog tells the service manager regularly that the daemon is alive, after a check of
// the daemon. A service manager that hears nothing for its interval kills the daemon and
// starts another one.
type watchdog struct {
	every time.Duration // a third of the service manager's interval
	check func(ctx context.Context) error
	tell  func()
	log   *slog.Logger
	left  time.Time // when life was seen to have ended
}

// leaveGrace is how long the daemon counts as alive while it hands over or ends: the parts
// that a check asks have stopped by then, and each step of the end has its own timeout.
const leaveGrace = endGrace + succeedTimeout

// errSilent is the cause of a check that took too long.
var errSilent = errors.New("no answer within two thirds of the watchdog's interval")

// watch runs a watchdog if the service manager wants one. The returned function ends the
// watchdog, once another process is the daemon.
func (d *daemon) watch() (unwatch func()) {
	interval, err := sd.SdWatchdogEnabled(false)
	if err != nil {
		d.log.Warn("the service manager's watchdog is not answered", "err", err)
	}
	ctx, unwatch := context.WithCancel(context.Background())
	if interval > 0 {
		w := &watchdog{every: interval / 3, check: d.checkAlive, tell: func() { d.parent.Notify(sd.SdNotifyWatchdog) }, log: d.log}
		go w.run(ctx, d.life) // ends with ctx, or with the process
	}
	return unwatch
}

// run tells at once, and then after each successful check, until ctx ends. After a check that
// hangs, the service manager hears nothing more.
func (w *watchdog) run(ctx, life context.Context) {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	w.tell()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := w.look(life); err != nil {
			w.log.Error("the watchdog is not told that the daemon is alive", "err", err)
		} else {
			w.tell()
		}
	}
}

// look returns nil if the check goes well, or the daemon has begun to leave in time.
func (w *watchdog) look(life context.Context) error {
	if life.Err() == nil {
		ctx, cancel := context.WithTimeoutCause(life, 2*w.every, errSilent)
		defer cancel()
		if err := w.check(ctx); err == nil || life.Err() == nil {
			return err
		}
	}
	if w.left = cmp.Or(w.left, time.Now()); time.Since(w.left) >= leaveGrace {
		return fmt.Errorf("it has not left within %s", leaveGrace)
	}
	return nil
}

// checkAlive returns nil if the lanes, the ledger's writer and the HTTP server answer. The
// server is asked at the same time as the others, since a slow disk may have each of them wait.
func (d *daemon) checkAlive(ctx context.Context) error {
	answers := make(chan error, 1)
	go func() { answers <- d.sockets.answer(ctx) }() // waited for below
	return errors.Join(d.engine.manager.Alive(ctx), <-answers)
}

// answer requests the daemon's health over the API socket, or over TCP if the socket's file
// was removed. Every answer, even a refusal, is a sign of life.
func (s *sockets) answer(ctx context.Context) error {
	ask := func(c *client.Client) error {
		once := http.Header{"Connection": {"close"}} // the next time has to connect as well
		return c.DoWith(ctx, http.MethodGet, api.PathHealth, once, nil, nil)
	}
	err := ask(client.OverSocket(s.apiSocket()))
	if errors.Is(err, fs.ErrNotExist) {
		err = ask(client.OverTCP(s.tcp.Addr().String(), ""))
	}
	if _, refused := errors.AsType[*client.Error](err); refused {
		return nil
	}
	return err
}
