package telegram

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bareclaw/adapters/telegram/env"
	"bareclaw/internal/lockfile"
)

// lockPause is the time between two attempts to take the lock. After a hand-over no
// update is received for up to lockPause.
const lockPause = 100 * time.Millisecond

// lock locks the lock file, which makes the process the user's only polling process: of two
// polling processes, each would receive some of the updates. lock returns the file once
// every other process has released the lock, nil when ctx ended first, or where no lock is
// configured. The lock ends with the process, or when the file is closed.
func (p *poller) lock(ctx context.Context) *os.File {
	if p.lockFile == "" {
		return nil
	}
	for ctx.Err() == nil {
		f, err := lockPolling(p.lockFile, p.holder)
		if err == nil {
			return f
		}
		if problem := lockProblem(err, p.lockFile); p.health.failed(problem) {
			p.env.Log.Warn("telegram: no messages are received", "problem", problem, "err", err)
		}
		env.Pause(ctx, lockPause)
	}
	return nil
}

func lockPolling(path string, holder int) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the polling lock: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the polling lock: %w", err)
	}
	if err = lockfile.Try(f); err == nil {
		if err = f.Truncate(0); err == nil {
			_, err = f.WriteAt([]byte(strconv.Itoa(holder)+"\n"), 0)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("take the polling lock: %w", err)
	}
	return f, nil
}

func lockProblem(err error, path string) string {
	if !errors.Is(err, lockfile.ErrHeld) {
		return "Telegram is not polled: " + err.Error()
	}
	who := ""
	text, _ := os.ReadFile(path) // without a process id the problem is told all the same
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
		who = fmt.Sprintf(" (pid %d)", pid)
	}
	return "Another gateway of this user" + who + " receives this bot's messages. Stop it, or give this one another bot."
}
