package sessionhost

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
	"bareclaw/sessionhost/protocol"
)

// TestClaudeThatDoesNotRead hands over more than a pipe holds to a claude that
// reads nothing: the daemon and the host go on.
func TestClaudeThatDoesNotRead(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.shell(`sleep 600`)
	s := st.start()
	s.until(core.Readied)
	for range 3 {
		s.hand("echo " + strings.Repeat("x", 1<<20))
	}
	if n := len(st.attach(2).Info().Turns); n < 2 { // the end of the last one may be on its way
		t.Errorf("the host took %d turns, want 3", n)
	}
}

// TestClaudeThatReadsLate hands over far more than a pipe holds before claude
// reads any of it: it gets every byte, in order.
func TestClaudeThatReadsLate(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.shell(`until [ -e "$HOME/go" ]; do sleep 0.05; done; head -n 3 > "$HOME/read.tmp"; mv "$HOME/read.tmp" "$HOME/read"; sleep 600`)
	s := st.start()
	s.until(core.Readied)
	var want []byte
	for i, n := range []int{10, 10 << 20, 100} {
		line := []byte(`{"n":"` + strings.Repeat(string(rune('a'+i)), n) + `"}` + "\n")
		want = append(want, line...)
		check.OK(t, s.Hand(core.TurnID(newID(t)), line))
	}
	st.touch("go")
	st.eventually("claude has read it", func() bool { return st.exists("read") })
	if got := st.read("read"); got != string(want) {
		t.Errorf("claude read %d bytes, which are not the %d it was told", len(got), len(want))
	}
}

// TestDaemonThatDoesNotRead has claude say more than a socket holds to a daemon
// that does not read: claude goes on, and the daemon gets it all later.
func TestDaemonThatDoesNotRead(t *testing.T) {
	t.Parallel()
	const lines = 20_000
	st := newStation(t)
	st.shell(fmt.Sprintf(`read -r line; yes '{"type":"assistant","text":"%s"}' | head -n %d; echo > "$HOME/said"; sleep 600`, strings.Repeat("x", 100), lines))
	st.start().until(core.Readied)
	conn, r := st.dial()
	if _, err := io.WriteString(conn, `{"type":"hello","version":1,"generation":2}`+"\n"+`{"type":"write","line":{}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	st.eventually("claude has said it all", func() bool { return st.exists("said") })
	if _, err := r.ReadString('\n'); err != nil { // the welcome
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= 2+lines; seq++ { // the answer to initialize and "ready" are the first
		line, err := r.ReadBytes('\n')
		check.OK(t, err)
		if entry, err := protocol.DecodeEntry(line[:len(line)-1]); err != nil || entry.Seq != seq {
			t.Fatalf("entry %d is %q (%v)", seq, line, err)
		}
	}
}

// TestLastWordsOfADaemon hands over a turn and leaves, while claude says what
// cannot be sent any more: the turn is claude's all the same.
func TestLastWordsOfADaemon(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.shell(`until [ -e "$HOME/go" ]; do sleep 0.05; done; echo '{"type":"user"}'; echo > "$HOME/said"; read -r line; echo > "$HOME/told"; sleep 600`)
	s := st.start()
	s.until(core.Readied)
	r := st.record()
	st.signal(r.PID, r.Start, syscall.SIGSTOP)
	s.hand("go on")
	s.Detach()
	st.touch("go")
	st.eventually("claude has spoken", func() bool { return st.exists("said") })
	st.signal(r.PID, r.Start, syscall.SIGCONT)
	st.eventually("claude has its turn", func() bool { return st.exists("told") })
}

// TestFullLogOutlivesClaude has claude end while its last words are in the pipe,
// since the log is full and no daemon is there: the next one gets them all.
func TestFullLogOutlivesClaude(t *testing.T) {
	t.Parallel()
	const lines = 500 // more than the log holds, and no more than log and pipe hold
	st := newStation(t)
	st.o.MemLimit, st.o.SpoolLimit = 1<<10, 16<<10
	st.shell(fmt.Sprintf(`read -r line; yes '{"type":"assistant","text":"%s"}' | head -n %d; exit 3`, strings.Repeat("x", 100), lines))
	s := st.start()
	s.until(core.Readied)
	r := st.record()
	s.hand("go on")
	s.Detach()
	st.gone("claude", r.ClaudePID, r.ClaudeStart)
	time.Sleep(time.Second) // the span in which they would be lost
	s = st.attach(2)
	var all []core.Event
	for ev, ok := s.next(); ok; ev, ok = s.next() {
		all = append(all, ev)
		s.Ack(ev.Seq)
		if ev.Kind == core.Exited {
			break
		}
	}
	inSequence(t, all, 1)
	if want := 2 + lines + 1; len(all) != want {
		t.Errorf("%d events came, want %d", len(all), want)
	}
}

// TestStopWithAFullLog ends a host whose log nobody empties.
func TestStopWithAFullLog(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.o.MemLimit, st.o.SpoolLimit = 1<<10, 4<<10
	st.shell(fmt.Sprintf(`yes '{"type":"assistant","text":"%s"}' | head -n 1000; sleep 600`, strings.Repeat("x", 100)))
	s := st.start()
	s.until(core.Readied)
	s.Detach()
	r := st.record()
	st.signal(r.PID, r.Start, syscall.SIGTERM)
	st.gone("claude", r.ClaudePID, r.ClaudeStart)
	st.gone("host", r.PID, r.Start)
}

// TestForeignRequest has claude ask what this gateway does not know: it is
// refused at once.
func TestForeignRequest(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.shell(`echo '{"type":"control_request","request_id":"r1","request":{"subtype":"hook_callback"}}'; read -r line; printf '%s' "$line" > "$HOME/told.tmp"; mv "$HOME/told.tmp" "$HOME/told"; sleep 600`)
	s := st.start()
	s.until(core.Readied)
	st.eventually("claude was answered", func() bool { return st.exists("told") })
	for _, want := range []string{`"r1"`, "hook_callback", `"error"`} {
		if told := st.read("told"); !strings.Contains(told, want) {
			t.Errorf("claude was told %s", told)
		}
	}
	if open := st.attach(2).Info().Requests; len(open) != 0 {
		t.Errorf("open requests are %+v", open)
	}
}

// dial connects to the host of channel "c" without a word.
func (st *station) dial() (net.Conn, *bufio.Reader) {
	st.t.Helper()
	c, err := net.Dial("unix", st.paths().Socket)
	check.OK(st.t, err)
	st.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c, bufio.NewReader(c)
}

// TestBadHello says what no daemon of this version says.
func TestBadHello(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	good := st.start()
	good.until(core.Readied)
	for name, c := range map[string]struct{ hello, reason string }{
		"other version":    {`{"type":"hello","version":99,"generation":5}`, "version 99"},
		"no version":       {`{"type":"hello","generation":5}`, "version 0"},
		"no hello":         {`{"type":"stop","version":1}`, `"stop"`},
		"no JSON":          {`GET / HTTP/1.1`, "decode frame"},
		"older generation": {`{"type":"hello","version":1,"generation":0}`, "generation 0"},
	} {
		conn, r := st.dial()
		if _, err := fmt.Fprintln(conn, c.hello); err != nil {
			t.Fatal(err)
		}
		line, err := r.ReadString('\n')
		var w protocol.Welcome
		if err != nil || json.Unmarshal([]byte(line), &w) != nil {
			t.Errorf("%s: host says %q (%v)", name, line, err)
		}
		if w.Type != protocol.FrameRefused || w.Version != protocol.Version || !strings.Contains(w.Error, c.reason) {
			t.Errorf("%s: host says %+v, want a refusal with %q", name, w, c.reason)
		}
		if rest, err := r.ReadString('\n'); err == nil {
			t.Errorf("%s: host goes on with %q", name, rest)
		}
	}
	good.answers("echo still here", "still here")
}

// TestBadFrame breaks the protocol after the hello: the connection ends, and the
// host does not.
func TestBadFrame(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	s := st.start()
	s.until(core.Readied)
	for _, bad := range []string{"rubbish", `{"type":"unknown"}`, `[]`, `{"type":`} {
		conn, r := st.dial()
		if _, err := fmt.Fprintf(conn, "{\"type\":\"hello\",\"version\":1,\"generation\":2}\n%s\n", bad); err != nil {
			t.Fatal(err)
		}
		for { // the welcome, and what is to be replayed
			if _, err := r.ReadString('\n'); err != nil {
				if errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("after %q the connection stays", bad)
				}
				break
			}
		}
	}
	st.attach(3).answers("echo still here", "still here")
}
