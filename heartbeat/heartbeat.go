// Package heartbeat looks after the gateway from outside, at regular times: a tick
// starts the gateway if it is down, asks the gateway to run the heartbeat's schedule, and
// reports what came of that. The gateway in turn has a service manager call the ticks.
//
// Time is divided into slots of one interval. A slot has one run, whatever is killed and
// however often a tick is called: the gateway records runs by the slot (see [Job]), asks
// the agent once, and tells the user what the agent has found.
package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/lockfile"
)

// StartLimit is how long a gateway may take until it serves.
const StartLimit = 30 * time.Second

// Options are what a tick works with.
type Options struct {
	Config  config.Config
	Service service.Launcher

	Self    string   // path of this program, by which a gateway is started
	Dir     string   // where it is started
	Environ []string // what it is started with: without what .env adds, which it reads itself

	// Isolate moves a gateway that a tick has started into a unit of its own; nil where no
	// systemd has called the tick.
	Isolate func(ctx context.Context, pid int) error

	StartLimit time.Duration
	Patience   time.Duration // how long the answer is waited for
	Out        io.Writer     // gets what the log gets
}

// A tick is one look.
type tick struct {
	Options
	log     *log
	records Records
	gateway gateway
	slot    time.Time
	begun   time.Time
	woke    bool // it has started the gateway
}

// Run carries out one tick and returns when it is over, or ctx ends. Where another tick
// is at work it does nothing. An error means that this tick could not do what it is
// for; what the agent could not do is on record only.
func Run(ctx context.Context, o Options) error {
	if err := os.MkdirAll(o.Config.StateDir, 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	l := openLog(filepath.Join(o.Config.StateDir, logName), o.Out)
	defer l.close()
	lock, err := takeLock(o.Config.StateDir)
	if errors.Is(err, lockfile.ErrHeld) {
		l.printf("another tick is at work; this one leaves it alone")
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	now := time.Now()
	t := &tick{Options: o, log: l, begun: now, slot: slotOf(now, o.Config.HeartbeatInterval)}
	if t.records, err = Read(o.Config.StateDir); err != nil {
		l.printf("the records of ticks cannot be read, and begin anew; the old ones are %q", t.records.path+".damaged")
		if err := os.Rename(t.records.path, t.records.path+".damaged"); err != nil {
			l.printf("that cannot be renamed: %q", err.Error())
		}
	}
	return t.run(ctx)
}

// takeLock makes this the only tick on a state directory until the file is closed.
func takeLock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "heartbeat.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the heartbeat's lock: %w", err)
	}
	if err := lockfile.Acquire(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// slotOf returns the beginning of the slot that a time is in.
func slotOf(at time.Time, interval time.Duration) time.Time { return at.UTC().Truncate(interval) }
