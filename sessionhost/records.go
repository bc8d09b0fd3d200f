package sessionhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"bareclaw/internal/proc"
	"bareclaw/internal/procmark"
	"bareclaw/internal/wait"
	"bareclaw/sessionhost/protocol"
)

// How long a process may take to end after SIGTERM, before SIGKILL.
const (
	hostGrace   = 4 * time.Second // the host ends claude meanwhile
	claudeGrace = 2 * time.Second
)

// recordGrace is how long Live waits for missing records: a host on a full disk repeats the
// write every RetryInterval, and a new host writes soon.
const recordGrace = 3 * protocol.RetryInterval

// A recordFile is a record with its path.
type recordFile struct {
	protocol.Record
	path string
}

// readRecords reads the records of a state directory, also of dead hosts. unread are the
// files that cannot be read.
func readRecords(stateDir string) (records []recordFile, unread []string, err error) {
	files, err := globIn(filepath.Join(stateDir, "hosts"), "*.json")
	if err != nil {
		return nil, nil, fmt.Errorf("list host records: %w", err)
	}
	for _, file := range files {
		r, err := protocol.ReadRecord(file)
		switch {
		case err == nil:
			records = append(records, recordFile{r, file})
		case !protocol.IsNotExist(err): // else the host has just ended
			unread = append(unread, file)
		}
	}
	return records, unread, nil
}

func globIn(dir, pattern string) ([]string, error) {
	files, err := fs.Glob(os.DirFS(dir), pattern)
	for i, name := range files {
		files[i] = filepath.Join(dir, name)
	}
	return files, err
}

func inParallel[T any](items []T, do func(T) error) error {
	errs := make([]error, len(items))
	var all sync.WaitGroup
	for i, item := range items {
		all.Go(func() { errs[i] = do(item) }) // ends with do
	}
	all.Wait()
	return errors.Join(errs...)
}

func reap(ctx context.Context, r recordFile) error {
	if r.HostAlive() {
		if err := procmark.End(ctx, hostGrace, r.Host()); err != nil {
			return fmt.Errorf("end session host: %w", err)
		}
	}
	if r.ClaudeAlive() {
		if err := procmark.End(ctx, claudeGrace, r.Claude()); err != nil {
			return fmt.Errorf("end claude: %w", err)
		}
	}
	if r.ThisBoot() {
		return protocol.SweepMarked(ctx, protocol.EnvMarkOf(r.path, r.PID, r.Start))
	}
	return nil
}

func reapRecord(ctx context.Context, path string) error {
	r, err := protocol.ReadRecord(path)
	if protocol.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := reap(ctx, recordFile{r, path}); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !protocol.IsNotExist(err) {
		return fmt.Errorf("remove host record: %w", err)
	}
	return nil
}

// An Inspection is an outside view of the sessions of a state directory.
type Inspection struct {
	Live   []Seen                  // live hosts
	Lost   []Seen                  // live claudes without a host
	Strays []proc.Process          // other leftover processes of sessions without a host
	Unread []string                // unreadable records
	orphan func(value string) bool // tells the marks of leftovers
}

// A Seen is the record of a host.
type Seen = protocol.Record

// Inspect looks at the sessions of a state directory, and changes nothing. It finds no
// strays on a system without readable environments.
func Inspect(stateDir string) (i Inspection, err error) {
	i.orphan = orphansOf(stateDir)
	records, unread, err := readRecords(stateDir)
	if err != nil {
		return i, err
	}
	i.Unread = unread
	known := map[int]bool{os.Getpid(): true}
	for _, r := range records {
		switch {
		case r.HostAlive():
			i.Live = append(i.Live, r.Record)
		case r.ClaudeAlive():
			i.Lost, known[r.ClaudePID] = append(i.Lost, r.Record), true
		}
	}
	found, err := proc.ByEnviron(protocol.EnvMarkVariable, i.orphan)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return i, fmt.Errorf("find what sessions left: %w", err)
	}
	i.Strays = slices.DeleteFunc(found, func(p proc.Process) bool { return known[p.PID] })
	return i, nil
}

// orphansOf tells the marks of processes whose host is gone and had its record in the state
// directory.
func orphansOf(stateDir string) func(mark string) bool {
	return protocol.IsOrphan(protocol.PlaceOf(stateDir, "", "").RecordPath)
}

// End ends the processes without a host, also newer ones. It returns when they are gone, or
// when ctx ends. A daemon may be at work meanwhile.
func (i *Inspection) End(ctx context.Context) error {
	for _, l := range i.Lost {
		if err := procmark.End(ctx, claudeGrace, l.Claude()); err != nil {
			return fmt.Errorf("end claude: %w", err)
		}
	}
	return procmark.Sweep(ctx, protocol.EnvMarkVariable, i.orphan)
}

// EndAll ends all sessions of an unused state directory, with their processes. It returns
// when they are gone, or when ctx ends. The next daemon decides the open turns from
// claude's record.
func EndAll(ctx context.Context, stateDir string) error {
	records, _, err := readRecords(stateDir)
	if err != nil {
		return err
	}
	reaped := inParallel(records, func(r recordFile) error { return reap(ctx, r) })
	left, err := Inspect(stateDir)
	if err == nil {
		err = left.End(ctx)
	}
	return errors.Join(reaped, err)
}

// awaitRecords returns when every host has its record, or after recordGrace with the locks of
// hosts without one. Such a host would not be found before its channel is used again. Mostly
// all records exist.
func awaitRecords(ctx context.Context, stateDir, runtimeDir string, except []string) (missing []string) {
	ctx, cancel := context.WithTimeout(ctx, recordGrace)
	defer cancel()
	_ = wait.Poll(ctx, protocol.RetryInterval/10, func() (bool, error) { // the result says what is missing
		missing = hostsWithoutRecord(stateDir, runtimeDir, except)
		return len(missing) == 0, nil
	})
	return missing
}

// hostsWithoutRecord returns the locks of live hosts without a record, found by their
// sockets.
func hostsWithoutRecord(stateDir, runtimeDir string, except []string) (locks []string) {
	sockets, _ := globIn(runtimeDir, "*.sock") // the pattern is well-formed
	for _, socket := range sockets {
		state := filepath.Join(stateDir, "hosts", strings.TrimSuffix(filepath.Base(socket), ".sock"))
		lock := state + ".lock"
		if isThere(state+".json") || !isThere(lock) || slices.Contains(except, lock) {
			continue
		}
		f, err := protocol.LockFile(lock)
		switch {
		case err == nil:
			_ = f.Close()
		case errors.Is(err, protocol.ErrLocked) && !isThere(state+".json"):
			locks = append(locks, lock)
		}
	}
	return locks
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
