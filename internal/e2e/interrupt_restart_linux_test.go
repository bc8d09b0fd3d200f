package e2e

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bareclaw/internal/exitcode"
)

// TestInterruptDuringARestart interrupts a turn, and has the gateway restart before the end
// of that turn is on record: the message that waits behind it is begun by the new process,
// and is not interrupted as well.
func TestInterruptDuringARestart(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]any{"whichever runs": nil, "no turn named": obj{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			building, release := m.heldBuild()
			g := m.start()
			first := g.tell("http", "wait "+m.path("never"))
			m.eventually("turn runs", func() bool { return m.begun("never") == 1 })
			next := g.tell("http", "wait "+m.path("go"))
			turn := g.channel("http").str("turn_id")
			generation := g.generation()
			restart, interrupt := make(chan answer, 1), make(chan answer, 1)
			ask := func(answered chan<- answer, path string, body any) { // ends with the request
				a, _ := g.do("POST", path, body)
				answered <- a
			}
			go ask(restart, "/restart", nil)
			m.eventually("the new program is built", building)
			pid, synced := g.cmd.Process.Pid, m.path("synced")
			disk := m.trace(pid, "fdatasync,fsync:delay_enter=6000000", "-o", synced)
			go ask(interrupt, "/channels/http/interrupt", body)
			m.eventually("the outcome is being written", func() bool { return inCall(pid, unix.SYS_FDATASYNC, unix.SYS_FSYNC) })
			release()
			m.eventually("it is written", func() bool {
				b, _ := os.ReadFile(synced)
				return strings.Contains(string(b), "DELAYED")
			})
			disk.detach()
			if a := <-restart; a.status != 200 {
				t.Errorf("restart: status %d: %s", a.status, a.body)
			}
			g.restarted(generation)
			if a := <-interrupt; a.status != 200 || a.str("turn_id") != turn || !strings.Contains(string(a.body), `"messages":["`+first+`"]`) {
				t.Errorf("interrupt: status %d: %s", a.status, a.body)
			}
			if a := g.outcome(first); a.str("state") != "cancelled" || a.str("turn_id") != turn {
				t.Errorf("the turn that was interrupted: %s", a.body)
			}
			m.touch("go")
			g.outcome(next).want(t, "waited for "+m.path("go"))
			g.balanced()
		})
	}
}

// TestInterruptNamesItsTurn: the command ends the turn that ran when it was called, and no
// other that has begun before its request is there.
func TestInterruptNamesItsTurn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	l, err := net.Listen("unix", m.path("run/api.sock"))
	if err != nil {
		t.Fatal(err)
	}
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
	m.command(exitcode.OK, "channels", "interrupt", "desk").shows("The turn has ended, with 1 message")
}
