// Package heartbeat supervises the gateway from a separate process, run at regular times
// by a service manager: a tick starts the gateway if the gateway is down, requests a run
// of the heartbeat's schedule, and reports the outcome. The gateway installs the ticks
// with the service manager.
//
// Time is divided into slots of one interval. A slot has exactly one run, regardless of
// killed processes and repeated ticks: the gateway records runs by slot (see [Job]),
// prompts the agent once, and reports the agent's findings to the user.
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
	"bareclaw/internal/logfile"
)

// StartLimit is the default time limit for a gateway to start serving.
const StartLimit = 30 * time.Second

// Options configure a tick.
type Options struct {
	Config  config.Config
	Service service.Launcher

	Self    string   // path of this program, used to start a gateway
	Dir     string   // working directory of a started gateway, if on record: see config.Remember
	Environ []string // environment of a started gateway, without variables from .env: the gateway loads .env itself

	// Isolate moves a gateway started by the tick into a separate unit; nil unless
	// systemd runs the tick.
	Isolate func(ctx context.Context, pid int) error

	StartLimit time.Duration
	Patience   time.Duration // how long to wait for the agent's answer
	Out        io.Writer     // receives a copy of the log
}

// A tick is the state of a single call of [Run].
type tick struct {
	Options
	log     log
	records Records
	gateway gateway
	slot    time.Time
	begun   time.Time
	woke    bool // the tick has started the gateway
}

// Run performs one tick and returns when the tick is over or ctx ends. While another
// tick runs on the same state directory, Run returns nil immediately. An error means
// that the tick itself failed; a failure of the agent is only recorded.
func Run(ctx context.Context, o Options) error {
	if err := os.MkdirAll(o.Config.StateDir(), 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	l := log{o.Out}
	if f, err := logfile.Open(filepath.Join(o.Config.StateDir(), logName), maxLog); err != nil {
		l.printf("the log cannot be written: %q", err.Error())
	} else {
		defer func() { _ = f.Close() }()
		l.Writer = io.MultiWriter(f, o.Out) // the file also where the output is closed
	}
	lock, err := lockfile.Open(filepath.Join(o.Config.StateDir(), "heartbeat.lock"), lockfile.Acquire)
	if errors.Is(err, lockfile.ErrHeld) {
		l.printf("another tick is at work; this one leaves it alone")
		return nil
	}
	if err != nil {
		return fmt.Errorf("take the heartbeat's lock: %w", err)
	}
	defer func() { _ = lock.Close() }()
	now := time.Now()
	t := &tick{Options: o, log: l, begun: now, slot: slotOf(now, time.Duration(o.Config.Heartbeat.Interval))}
	if t.records, err = Read(o.Config.StateDir()); err != nil {
		l.printf("the records of ticks cannot be read, and begin anew; the old ones are %q", t.records.path+".damaged")
		if err := os.Rename(t.records.path, t.records.path+".damaged"); err != nil {
			l.printf("that cannot be renamed: %q", err.Error())
		}
	}
	return t.run(ctx)
}

func slotOf(at time.Time, interval time.Duration) time.Time { return at.UTC().Truncate(interval) }

const (
	logName = service.HeartbeatLog
	// maxLog is the size in bytes of a full log, which becomes an old log.
	maxLog = 1 << 20
)

// A log writes one line of text per step of a tick.
type log struct{ io.Writer }

// printf writes a line. Callers format external text with %q, because people read the
// log in terminals.
func (l log) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(l, time.Now().UTC().Format(time.RFC3339)+" "+format+"\n", args...)
}
