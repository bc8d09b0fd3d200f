package sessionhost

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bareclaw/sessionhost/protocol"
)

// recordGrace is how long Live waits for missing records: a host on a full disk repeats the
// write every RetryInterval, and a new host writes soon.
const recordGrace = 3 * protocol.RetryInterval

// awaitRecords returns when every host has its record, or after recordGrace. A host without
// a record would not be found before its channel is used again. Mostly all records exist.
func (h *Hosts) awaitRecords(ctx context.Context) {
	look := time.NewTicker(protocol.RetryInterval / 10)
	defer look.Stop()
	late := time.NewTimer(recordGrace)
	defer late.Stop()
	for {
		missing := h.hostsWithoutRecord()
		if len(missing) == 0 {
			return
		}
		select {
		case <-look.C:
		case <-late.C:
			h.o.Log.Warn("session host has no record yet, and is found only when its channel is used", "locks", missing)
			return
		case <-ctx.Done():
			return
		}
	}
}

// hostsWithoutRecord returns the locks of live hosts without a record, found by their
// sockets. Spares of this daemon are left out: they may be starting.
func (h *Hosts) hostsWithoutRecord() (locks []string) {
	var spares []string
	for slot := range h.o.Spares {
		spares = append(spares, h.place(spareKey(slot+1)).LockPath)
	}
	sockets, _ := filepath.Glob(filepath.Join(escapeGlob(h.o.RuntimeDir), "*.sock")) // the pattern is well-formed
	for _, socket := range sockets {
		state := filepath.Join(h.o.StateDir, "hosts", strings.TrimSuffix(filepath.Base(socket), ".sock"))
		lock := state + ".lock"
		if isThere(state+".json") || !isThere(lock) || slices.Contains(spares, lock) {
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
