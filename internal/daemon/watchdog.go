package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
)

// A watchdog tells the service manager again and again that the daemon is alive, each
// time after it has made sure of it. When it says nothing for the interval that the service
// manager gives, the daemon is killed and started again.
type watchdog struct {
	every   time.Duration // a third of that interval
	check   func(ctx context.Context) error
	tell    func()
	log     *slog.Logger
	excused atomic.Pointer[time.Time] // until then the daemon owns nothing that could be asked, or ends
	stop    chan struct{}
	failed  chan error // of checks, nil included; capacity 1
}

// errSilent is why a check has failed that took too long.
var errSilent = errors.New("for two thirds of the watchdog's interval")

// newWatchdog returns a watchdog, nil if the service manager wants none.
func newWatchdog(tell func(), check func(context.Context) error, log *slog.Logger) *watchdog {
	interval, err := sd.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("the service manager's watchdog is not answered", "err", err)
	}
	if interval <= 0 {
		return nil
	}
	return &watchdog{every: interval / 3, check: check, tell: tell, log: log, stop: make(chan struct{}), failed: make(chan error, 1)}
}

// start begins to tell the service manager that the daemon is alive. Nil is no watchdog.
func (w *watchdog) start() {
	if w != nil {
		go w.run() // ends by rest, or with the process
	}
}

// run tells at once, and then after each check that went well. There is one check at
// a time, so that one that never ends leaves nothing but itself.
func (w *watchdog) run() {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	w.tell()
	checking, due := false, false
	for {
		select {
		case <-w.stop:
			return
		case err := <-w.failed:
			checking = false
			w.checked(err)
		case <-tick.C:
			due = !w.isExcused()
			if !due {
				w.tell()
			}
		}
		if due && !checking {
			checking, due = true, false
			go w.look() // ends with the check, which may be stuck as what it checks
		}
	}
}

func (w *watchdog) checked(err error) {
	if err == nil {
		w.tell()
	} else if !w.isExcused() {
		w.log.Error("the watchdog is not told that the daemon is alive", "err", err)
	}
}

func (w *watchdog) look() {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 2*w.every, errSilent)
	defer cancel()
	w.failed <- w.check(ctx)
}

// excuse has the daemon count as alive for a while in which it cannot be asked, since
// it hands over or ends. What it does then has its own bounds. Nil is no watchdog.
func (w *watchdog) excuse(d time.Duration) {
	if w != nil {
		until := time.Now().Add(d)
		w.excused.Store(&until)
	}
}

func (w *watchdog) isExcused() bool {
	until := w.excused.Load()
	return until != nil && time.Now().Before(*until)
}

// rest ends it: another process is the daemon.
func (w *watchdog) rest() {
	if w != nil {
		close(w.stop)
	}
}

// checkAlive returns nil if what others wait for in this process answers: the lanes, the
// ledger's writer, the HTTP server. All are asked at the same time, since a slow disk may have
// each of them wait.
func (d *daemon) checkAlive(ctx context.Context) error {
	answers := make(chan error, 1)
	go func() { answers <- d.sockets.answer(ctx) }() // waited for below
	return errors.Join(d.engine.manager.Alive(ctx), <-answers)
}

// answer asks the daemon something over its own socket, or over TCP where somebody has
// removed that. Whatever it answers, it does.
func (s *sockets) answer(ctx context.Context) error {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer
		c, err := dialer.DialContext(ctx, "unix", s.apiSocket())
		if errors.Is(err, fs.ErrNotExist) {
			return dialer.DialContext(ctx, "tcp", s.tcp.Addr().String())
		}
		return c, err
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/health", nil)
	if err != nil {
		return fmt.Errorf("ask for the daemon's health: %w", err)
	}
	resp, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("the HTTP server does not answer: %w", err)
	}
	return resp.Body.Close()
}
