// Package lockfile takes advisory locks on files, among them the lock against a second
// daemon on a state directory. A lock belongs to the open file: the system releases the
// lock when the last descriptor is closed, however the process ends, and a child process
// may inherit the descriptor.
package lockfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bareclaw/internal/proc"
	"bareclaw/internal/wait"
)

// ErrHeld reports that another open file holds the lock.
var ErrHeld = errors.New("lock is held by another process")

// Try takes the lock without waiting. The error is ErrHeld or the system's error.
func Try(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrHeld
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}

// Open opens a file, which is made if absent, and takes its lock by [Try] or [Acquire]. The
// lock ends with the file. A symbolic link is not followed, because owners write into their
// locks: the error is ELOOP.
func Open(path string, take func(*os.File) error) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := take(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Own is Open for a file that names the process to which the lock belongs. Own makes a missing
// directory. The file must not be removed, because a removed lock could be held twice.
func Own(path string, pid int, take func(*os.File) error) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return Open(path, func(f *os.File) error {
		err := take(f)
		if err == nil {
			err = f.Truncate(0)
		}
		if err == nil {
			_, err = fmt.Fprintln(f, pid)
		}
		return err
	})
}

// Owner returns the process named in the file of a lock, 0 if unknown.
func Owner(path string) int {
	text, _ := os.ReadFile(path)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// Acquire retries Try for at most half a second, because a child of the previous owner
// may hold the descriptor for a moment, between fork and exec.
func Acquire(f *os.File) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second/2, ErrHeld)
	defer cancel()
	return Await(ctx, f, 10*time.Millisecond)
}

// Await retries Try with pauses. If ctx ends before, Await returns the cause of ctx.
func Await(ctx context.Context, f *os.File, pause time.Duration) error {
	return wait.Poll(ctx, pause, func() (bool, error) {
		err := Try(f)
		if errors.Is(err, ErrHeld) {
			return false, nil
		}
		return true, err
	})
}

// A Holder describes the gateway that holds the state directory's lock: a supervisor and
// its worker.
type Holder struct {
	PID         int    `json:"pid"`             // of the supervisor
	Start       uint64 `json:"start,omitempty"` // process start time, see proc.StartTime
	Worker      int    `json:"worker,omitempty"`
	WorkerStart uint64 `json:"worker_start,omitempty"`

	Address   string      `json:"address,omitempty"` // address of the HTTP server
	StartedAt time.Time   `json:"started_at"`
	Log       LogLocation `json:"log,omitzero"`
	Ended     bool        `json:"ended,omitempty"` // ended on request, not by a crash
}

// LacksWorker reports whether the worker has ended, as between a crash and the next start. A new
// worker describes itself before it serves.
func (h Holder) LacksWorker() bool { return h.Worker > 0 && !proc.Alive(h.Worker, h.WorkerStart) }

// A LogLocation names a daemon's log: a file, or the journal of systemd. The zero value
// means no log.
type LogLocation struct {
	Path string `json:"path,omitempty"`
	Unit string `json:"unit,omitempty"` // unit option for journalctl
}

// StateLockName is the lock file's name in the state directory.
const StateLockName = "daemon.lock"

// A StateLock prevents a second daemon on a state directory. The lock ends with the
// process.
type StateLock struct{ f *os.File }

// leaveTimeout is how long the worker of a killed supervisor may take to leave.
const leaveTimeout = 30 * time.Second

// AcquireState takes the lock of the state directory and creates the directory if absent.
// AcquireState waits for a worker that leaves because its supervisor was killed. The error
// names the holder.
func AcquireState(dir string) (*StateLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	path := filepath.Join(dir, StateLockName)
	f, err := Open(path, Acquire)
	if errors.Is(err, ErrHeld) && awaitWorker(path) {
		f, err = Open(path, Acquire)
	}
	switch {
	case errors.Is(err, ErrHeld):
		return nil, heldBy(path, dir)
	case err != nil:
		return nil, fmt.Errorf("lock the state directory: %w", err)
	}
	return &StateLock{f: f}, nil
}

// awaitWorker waits for the end of a worker without a supervisor, and reports whether there
// was one and it has ended.
func awaitWorker(path string) bool {
	h, err := ReadHolder(path)
	if err != nil || proc.Alive(h.PID, h.Start) || !proc.Alive(h.Worker, h.WorkerStart) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	return proc.WaitGone(ctx, h.Worker, h.WorkerStart) == nil
}

func heldBy(path, dir string) error {
	h, err := ReadHolder(path)
	if err != nil {
		return fmt.Errorf("another gateway uses %s; stop it first, or set BARECLAW_STATE_DIR to another directory", dir)
	}
	if !proc.Alive(h.PID, h.Start) { // a process hung while taking over
		which, kill := "", "end the process that `pgrep -fl 'bareclaw worker'` shows" // others do not see what a gateway has open
		if pids := strings.Join(openIn(path), " "); pids != "" {
			which, kill = ": process "+pids, "run: kill "+pids
		}
		return fmt.Errorf("the gateway (pid %d) that used %s has ended, but its lock is still held, perhaps by a gateway that is starting%s; "+
			"if no gateway serves in a minute, %s", h.PID, dir, which, kill)
	}
	return fmt.Errorf("another gateway (pid %d, at %s, since %s) uses %s; end that first, with `bareclaw stop`, or set BARECLAW_STATE_DIR, BARECLAW_RUNTIME_DIR and BARECLAW_PORT to others",
		h.PID, h.Address, h.StartedAt.Format(time.RFC3339), dir)
}

// openIn lists the other processes with path open, as far as /proc shows them.
func openIn(path string) (pids []string) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	open, _ := filepath.Glob("/proc/[0-9]*/fd/*") // no match on systems without /proc
	self := strconv.Itoa(os.Getpid())
	for _, fd := range open {
		pid := strings.Split(fd, "/")[2]
		if target, err := os.Readlink(fd); err == nil && target == path && pid != self && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Describe writes the holder into the lock file.
func (l *StateLock) Describe(h Holder) error {
	b, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("describe the lock's holder: %w", err)
	}
	b = append(b, '\n')
	if _, err := l.f.WriteAt(b, 0); err != nil { // readers ignore the rest of a longer description
		return fmt.Errorf("write the lock file: %w", err)
	}
	if err := l.f.Truncate(int64(len(b))); err != nil {
		return fmt.Errorf("write the lock file: %w", err)
	}
	return nil
}

// InheritedState returns the lock handed over by another daemon, nil if f is not the
// lock file of dir.
func InheritedState(f *os.File, dir string) *StateLock {
	have, err := f.Stat()
	if err != nil {
		return nil
	}
	want, err := os.Stat(filepath.Join(dir, StateLockName))
	if err != nil || !os.SameFile(have, want) {
		return nil
	}
	return &StateLock{f: f}
}

// ReadHolder returns the holder described in a lock file. ReadHolder reads a
// half-written description again, for at most about 20 ms.
func ReadHolder(path string) (h Holder, err error) {
	const tries, pause = 20, time.Millisecond
	for n := 1; ; n++ {
		if h, err = readHolderOnce(path); err == nil {
			return h, nil
		}
		if n == tries || errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) { // empty or missing: no daemon has written a description yet
			return Holder{}, fmt.Errorf("read the state directory's lock: %w", err)
		}
		time.Sleep(pause)
	}
}

func readHolderOnce(path string) (h Holder, err error) {
	f, err := os.Open(path)
	if err == nil {
		defer func() { _ = f.Close() }()
		err = json.NewDecoder(f).Decode(&h)
	}
	return h, err
}

// Release closes the file. The lock ends with the last descriptor, which another process
// may have.
func (l *StateLock) Release() { _ = l.f.Close() }

// File returns the lock's file for a successor. The StateLock still owns the file.
func (l *StateLock) File() *os.File { return l.f }

// IsStateHeld reports whether a process holds the lock of a state directory, even before
// the holder has written its description.
func IsStateHeld(dir string) bool {
	f, err := os.OpenFile(filepath.Join(dir, StateLockName), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return errors.Is(Try(f), ErrHeld)
}
