package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// heldBuild makes a restart stand still where the new program is built, after the disk was
// tried and before the new process is started, until the returned function is called. building
// reports whether a restart has come there.
func (m *machine) heldBuild() (building func() bool, release func()) {
	m.t.Helper()
	if err := os.MkdirAll(m.path("tools"), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Mkdir(m.path("source"), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := unix.Mkfifo(m.path("build"), 0o600); err != nil {
		m.t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n: >%q\ncat %q\nexec cp %q \"$3\"\n", m.path("building"), m.path("build"), m.executable())
	if err := writeProgram(m.path("tools/go"), []byte(script)); err != nil {
		m.t.Fatal(err)
	}
	m.env = append(m.env, "BARECLAW_SOURCE="+m.path("source"), "PATH="+m.path("tools")+":"+os.Getenv("PATH"))
	return func() bool {
			_, err := os.Stat(m.path("building"))
			return err == nil
		}, func() {
			if err := os.WriteFile(m.path("build"), nil, 0); err != nil { // the fifo's reader finds its end
				m.t.Fatal(err)
			}
		}
}

// inCall reports whether a thread of the process is in one of the system calls, or kept from it.
func inCall(pid int, calls ...int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid)) // none when it has ended
	for _, path := range threads {
		b, err := os.ReadFile(path)
		number, _, _ := strings.Cut(string(b), " ")
		if call, notNumber := strconv.Atoi(number); err == nil && notNumber == nil && slices.Contains(calls, call) {
			return true
		}
	}
	return false
}

// TestHandOverOnASlowDisk hands over while messages are being written to a disk whose sync
// takes long: each is accepted once, carried out once and answered.
func TestHandOverOnASlowDisk(t *testing.T) {
	t.Parallel()
	for _, sync := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second} {
		t.Run(sync.String(), func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			building, release := m.heldBuild()
			g := m.start()
			g.say("idle", "echo hello").want(t, "hello")
			id := g.tell("busy", "wait "+m.path("go"))
			m.eventually("turn runs", func() bool { return m.begun("wait") == 1 })
			generation := g.generation()
			restart := make(chan answer, 1)
			go func() { // ends with the request
				a, _ := g.do("POST", "/restart", nil)
				restart <- a
			}()
			m.eventually("the new program is built", building)
			pid, synced := g.cmd.Process.Pid, m.path("synced")
			disk := m.trace(pid, fmt.Sprintf("fdatasync,fsync:delay_enter=%d", sync.Microseconds()), "-o", synced)
			idle := g.hold(obj{"channel": "idle", "text": "echo to idle"})
			m.eventually("a message is being written", func() bool { return inCall(pid, unix.SYS_FDATASYNC, unix.SYS_FSYNC) })
			busy := g.hold(obj{"channel": "busy", "text": "echo to busy"})
			fresh := g.hold(obj{"channel": "fresh", "text": "echo to fresh"}, "Prefer", "respond-async")
			release()
			m.eventually("it is written", func() bool {
				b, _ := os.ReadFile(synced)
				return strings.Contains(string(b), "DELAYED")
			})
			disk.detach() // closing the ledger syncs too, which is of no concern here
			if a := <-restart; a.status != 200 {
				t.Errorf("restart: status %d: %s", a.status, a.body)
			}
			g.restarted(generation)
			m.touch("go")
			idle.answer(200).want(t, "to idle")
			busy.answer(200).want(t, "to busy")
			g.outcome(fresh.answer(202).str("message_id")).want(t, "to fresh")
			g.outcome(id).want(t, "waited for "+m.path("go"))
			for _, text := range []string{"to idle", "to busy", "to fresh"} {
				if n := m.begun(text); n != 1 {
					t.Errorf("%q was begun %d times", text, n)
				}
			}
			if n := g.balanced(); n != 5 {
				t.Errorf("%d messages were accepted, 5 were sent", n)
			}
		})
	}
}
