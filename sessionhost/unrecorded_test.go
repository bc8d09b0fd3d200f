package sessionhost

import (
	"log/slog"
	"os"
	"slices"
	"testing"
	"testing/synctest"

	"bareclaw/core"
	"bareclaw/internal/proc"
	"bareclaw/sessionhost/protocol"
)

// TestLiveWaitsForARecord: a host that could not write its record yet is found, and one
// that is gone keeps nobody waiting for long.
func TestLiveWaitsForARecord(t *testing.T) {
	t.Parallel()
	state, run := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h, err := New(Options{StateDir: state, RuntimeDir: run, Lasting: true, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		at := h.o.place("c")
		if err := os.WriteFile(at.Socket, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		lock, err := protocol.LockFile(at.LockPath)
		if err != nil {
			t.Fatal(err)
		}
		type result struct {
			keys []core.ChannelKey
			err  error
		}
		told := make(chan result, 1)
		look := func() {
			keys, err := h.Live(t.Context())
			told <- result{keys, err}
		}
		go look()
		synctest.Wait() // it waits for the record
		r := protocol.Record{Channel: "c", Socket: at.Socket, PID: os.Getpid()}
		r.Start, _ = proc.StartTime(r.PID)
		r.BootID, _ = proc.BootID()
		if err := r.Write(at.RecordPath); err != nil {
			t.Fatal(err)
		}
		if got := <-told; got.err != nil || !slices.Equal(got.keys, []core.ChannelKey{"c"}) {
			t.Errorf("live are %q, %v", got.keys, got.err)
		}
		if err := os.Remove(at.RecordPath); err != nil {
			t.Fatal(err)
		}
		go look()
		if got := <-told; got.err != nil || len(got.keys) > 0 {
			t.Errorf("live without a record are %q, %v", got.keys, got.err)
		}
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
		if left := hostsWithoutRecord(h.o.StateDir, h.o.RuntimeDir, nil); len(left) > 0 {
			t.Errorf("a host that is gone is waited for: %q", left)
		}
	})
}
