package sessionhost

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"bareclaw/core"
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

// TestForeignRequest has claude ask what this gateway does not know: it is
// refused at once.
func TestForeignRequest(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	st.shell(`echo '{"type":"control_request","request_id":"r1","request":{"subtype":"hook_callback"}}'; read -r line; printf '%s' "$line" > "$HOME/told.tmp"; mv "$HOME/told.tmp" "$HOME/told"; sleep 600`)
	s := st.start()
	s.until(core.Readied)
	st.eventually("claude was answered", func() bool { return st.exists("told") })
	b, err := os.ReadFile(st.path("told"))
	if err != nil || !strings.Contains(string(b), `"r1"`) || !strings.Contains(string(b), "hook_callback") || !strings.Contains(string(b), `"error"`) {
		t.Errorf("claude was told %s (%v)", b, err)
	}
	if open := st.attach(2).Info().Requests; len(open) != 0 {
		t.Errorf("open requests are %+v", open)
	}
}

// dial connects to the host of channel "c" without a word.
func (st *station) dial() (net.Conn, *bufio.Reader) {
	st.t.Helper()
	c, err := net.Dial("unix", st.paths().socket)
	if err != nil {
		st.t.Fatal(err)
	}
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
		var w welcome
		if err != nil || json.Unmarshal([]byte(line), &w) != nil {
			t.Errorf("%s: host says %q (%v)", name, line, err)
		}
		if w.Type != frameRefused || w.Version != protocolVersion || !strings.Contains(w.Error, c.reason) {
			t.Errorf("%s: host says %+v, want a refusal with %q", name, w, c.reason)
		}
		if rest, err := r.ReadString('\n'); err == nil {
			t.Errorf("%s: host goes on with %q", name, rest)
		}
	}
	if got := good.answer("echo still here"); got != "still here" {
		t.Errorf("answer is %q", got)
	}
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
	if got := st.attach(3).answer("echo still here"); got != "still here" {
		t.Errorf("answer is %q", got)
	}
}
