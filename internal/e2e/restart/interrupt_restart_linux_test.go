package restart

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/testkit/check"
)

// TestInterruptDuringARestart interrupts a turn, and has the gateway restart before the end
// of that turn is on record: the message that waits behind it is begun by the new process,
// and is not interrupted as well.
func TestInterruptDuringARestart(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]any{"whichever runs": nil, "no turn named": harness.Obj{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			building, release := heldBuild(m)
			g := m.Start()
			first := g.Tell("http", "wait "+m.Path("never"))
			m.Eventually("turn runs", func() bool { return m.Begun("never") == 1 })
			next := g.Tell("http", "wait "+m.Path("go"))
			turn := g.Channel("http").Str("turn_id")
			generation := g.Generation()
			restart, interrupt := make(chan harness.Answer, 1), make(chan harness.Answer, 1)
			ask := func(answered chan<- harness.Answer, path string, body any) { // ends with the request
				a, _ := g.Do("POST", path, body)
				answered <- a
			}
			go ask(restart, "/restart", nil)
			m.Eventually("the new program is built", building)
			pid := g.Worker()
			hosts := m.HostSockets(pid)
			disk := m.Trace(pid, "fdatasync,fsync"+harness.Hold60, "-P", m.Path("state/ledger.db-wal")) // not what the restart writes
			go ask(interrupt, "/channels/http/interrupt", body)
			m.Eventually("the outcome is being written", func() bool { return harness.InCall(pid, unix.SYS_FDATASYNC, unix.SYS_FSYNC) })
			release()
			m.Eventually("the channel has let go of its host", func() bool { return !holdsAll(pid, hosts) })
			disk.Detach()
			if a := <-restart; a.Status != 200 {
				t.Errorf("restart: status %d: %s", a.Status, a.Body)
			}
			g.Restarted(generation)
			if a := <-interrupt; a.Status != 200 || a.Str("turn_id") != turn || !strings.Contains(string(a.Body), `"messages":["`+first+`"]`) {
				t.Errorf("interrupt: status %d: %s", a.Status, a.Body)
			}
			if a := g.Outcome(first); a.Str("state") != "cancelled" || a.Str("turn_id") != turn {
				t.Errorf("the turn that was interrupted: %s", a.Body)
			}
			m.Touch("go")
			g.Outcome(next).Want(t, "waited for "+m.Path("go"))
			g.Balanced()
		})
	}
}

// holdsAll reports whether the process has all of the files open, as /proc names them.
func holdsAll(pid int, files []string) bool {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // none when it has ended
	var open []string
	for _, fd := range fds {
		to, _ := os.Readlink(fd) // empty when it has just been closed
		open = append(open, to)
	}
	return !slices.ContainsFunc(files, func(f string) bool { return !slices.Contains(open, f) })
}

// TestInterruptNamesItsTurn: the command ends the turn that ran when it was called, and no
// other that has begun before its request is there.
func TestInterruptNamesItsTurn(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	l, err := net.Listen("unix", m.Path("run/api.sock"))
	check.OK(t, err)
	gateway := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		switch asked := r.Method + " " + r.URL.Path + " " + string(body); {
		case err != nil:
			t.Error(err)
		case asked == "GET /channels/desk ":
			_, _ = io.WriteString(w, `{"channel":"desk","state":"running","turn_id":"turn-1"}`)
		case asked == `POST /channels/desk/interrupt {"turn_id":"turn-1"}`:
			_, _ = io.WriteString(w, `{"turn_id":"turn-1","messages":["m-1"],"took_ms":40}`)
		default:
			t.Errorf("it asks %s", asked)
		}
	})}}
	gateway.Start()
	t.Cleanup(gateway.Close)
	m.Command(exitcode.OK, "channels", "interrupt", "desk").Shows("The turn has ended, with 1 message")
}
