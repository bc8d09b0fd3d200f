package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bareclaw/adapters/telegram/tasks"
	"bareclaw/internal/lockfile"
)

// lockPause is the time between two attempts to take the lock. After a hand-over no
// update is received for up to lockPause.
const lockPause = 100 * time.Millisecond

// A pollLock makes the holder the user's only polling process: of two polling processes,
// each would receive some of the updates. The lock ends with the process.
type pollLock struct{ f *os.File }

// lock returns the lock after every other process has released the lock; nil when ctx
// ended first, or where no lock is configured.
func (p *poller) lock(ctx context.Context) *pollLock {
	if p.lockFile == "" {
		return nil
	}
	for ctx.Err() == nil {
		l, err := takePollLock(p.lockFile, p.holder)
		if err == nil {
			return l
		}
		if problem := lockProblem(err, p.lockFile); p.health.failed(problem) {
			p.env.Log.Warn("telegram: no messages are received", "problem", problem, "err", err)
		}
		tasks.Pause(ctx, lockPause)
	}
	return nil
}

func takePollLock(path string, holder int) (*pollLock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the polling lock: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the polling lock: %w", err)
	}
	if err := lockfile.Try(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	l := &pollLock{f: f}
	if err := l.describe(holder); err != nil {
		l.release()
		return nil, err
	}
	return l, nil
}

// describe writes the holder, a process id, into the lock file.
func (l *pollLock) describe(holder int) error {
	if err := l.f.Truncate(0); err != nil {
		return fmt.Errorf("write the polling lock: %w", err)
	}
	if _, err := l.f.WriteAt([]byte(strconv.Itoa(holder)+"\n"), 0); err != nil {
		return fmt.Errorf("write the polling lock: %w", err)
	}
	return nil
}

func (l *pollLock) release() {
	if l != nil {
		_ = l.f.Close()
	}
}

// lockProblem explains why the lock is not available.
func lockProblem(err error, path string) string {
	if !errors.Is(err, lockfile.ErrHeld) {
		return "Telegram is not polled: " + err.Error()
	}
	who := ""
	if pid := lockHolder(path); pid > 0 {
		who = fmt.Sprintf(" (pid %d)", pid)
	}
	return "Another gateway of this user" + who + " receives this bot's messages. Stop it, or give this one another bot."
}

// lockHolder returns the process named in the lock file; 0: none.
func lockHolder(path string) int {
	const enough = 32 // more than a process id
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, enough))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}
