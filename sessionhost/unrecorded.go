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

// recordGrace is how long a host may take to write its record when a daemon looks for
// hosts: one that met a full disk tries again every retryEvery, and one that was started
// just before its daemon died comes to it soon.
const recordGrace = 3 * protocol.RetryInterval

// awaitRecords returns when every host has its record, or recordGrace is over. Without
// a record nobody would find the host, which nobody else ends, before its channel is
// used again. Mostly there is nothing to wait for.
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
			h.o.Log.Warn("a session host has no record, it is found when its channel is used", "locks", missing)
			return
		case <-ctx.Done():
			return
		}
	}
}

// unrecorded returns the locks of hosts that are alive, by their sockets, and have no
// record. Spares of this daemon are left out: they may just be starting.
func (h *Hosts) hostsWithoutRecord() (locks []string) {
	var spares []string
	for slot := range h.o.Spares {
		spares = append(spares, h.files(spareKey(slot+1)).Lock)
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
