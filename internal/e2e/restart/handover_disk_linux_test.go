package restart

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/executable"
)

// heldBuild makes a restart stand still where the new program is built, after the disk was
// tried and before the new process is started, until the returned function is called. building
// reports whether a restart has come there.
func heldBuild(m *harness.Machine) (building func() bool, release func()) {
	m.T.Helper()
	check.OK(m.T, os.MkdirAll(m.Path("tools"), 0o700))
	check.OK(m.T, os.Mkdir(m.Path("source"), 0o700))
	check.OK(m.T, unix.Mkfifo(m.Path("build"), 0o600))
	script := fmt.Sprintf("#!/bin/sh\n: >%q\ncat %q\nexec cp %q \"$3\"\n", m.Path("building"), m.Path("build"), m.Executable())
	check.OK(m.T, executable.Write(m.Path("tools/go"), []byte(script)))
	m.Env = append(m.Env, "BARECLAW_SOURCE="+m.Path("source"), "PATH="+m.Path("tools")+":"+os.Getenv("PATH"))
	return func() bool {
			_, err := os.Stat(m.Path("building"))
			return err == nil
		}, func() {
			check.OK(m.T, os.WriteFile(m.Path("build"), nil, 0)) // the fifo's reader finds its end
		}
}

// TestHandOverOnASlowDisk hands over while messages are being written to a disk whose sync
// takes long: each is accepted once, carried out once and answered.
func TestHandOverOnASlowDisk(t *testing.T) {
	t.Parallel()
	for _, sync := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second} {
		t.Run(sync.String(), func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			building, release := heldBuild(m)
			g := m.Start()
			g.Say("idle", "echo hello").Want(t, "hello")
			id := g.Tell("busy", "wait "+m.Path("go"))
			m.Eventually("turn runs", func() bool { return m.Begun("wait") == 1 })
			generation := g.Generation()
			restart := make(chan harness.Answer, 1)
			go func() { // ends with the request
				a, _ := g.Do("POST", "/restart", nil)
				restart <- a
			}()
			m.Eventually("the new program is built", building)
			pid, synced := g.Worker(), m.Path("synced")
			disk := m.Trace(pid, fmt.Sprintf("fdatasync,fsync:delay_enter=%d", sync.Microseconds()), "-o", synced)
			idle := g.Hold(harness.Obj{"channel": "idle", "text": "echo to idle"})
			m.Eventually("a message is being written", func() bool { return harness.InCall(pid, unix.SYS_FDATASYNC, unix.SYS_FSYNC) })
			busy := g.Hold(harness.Obj{"channel": "busy", "text": "echo to busy"})
			fresh := g.Hold(harness.Obj{"channel": "fresh", "text": "echo to fresh"}, "Prefer", "respond-async")
			release()
			m.Eventually("it is written", func() bool {
				b, _ := os.ReadFile(synced)
				return strings.Contains(string(b), "DELAYED")
			})
			disk.Detach() // closing the ledger syncs too, which is of no concern here
			if a := <-restart; a.Status != 200 {
				t.Errorf("restart: status %d: %s", a.Status, a.Body)
			}
			g.Restarted(generation)
			m.Touch("go")
			idle.Answer(200).Want(t, "to idle")
			busy.Answer(200).Want(t, "to busy")
			g.Outcome(fresh.Answer(202).Str("message_id")).Want(t, "to fresh")
			g.Outcome(id).Want(t, "waited for "+m.Path("go"))
			for _, text := range []string{"to idle", "to busy", "to fresh"} {
				if n := m.Begun(text); n != 1 {
					t.Errorf("%q was begun %d times", text, n)
				}
			}
			if n := g.Balanced(); n != 5 {
				t.Errorf("%d messages were accepted, 5 were sent", n)
			}
		})
	}
}
