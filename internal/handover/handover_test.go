package handover

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// roleVariable makes the test binary a successor that behaves as it says.
const roleVariable = "HANDOVER_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(succeed(role))
	}
	goleak.VerifyTestMain(m)
}

// succeed is the successor: it takes over the listener and says its own role to
// whoever connects, until its input ends.
func succeed(role string) int {
	p, err := Inherited()
	if err != nil || p == nil || os.Getenv(variable) != "" || os.Getenv("WATCHDOG_PID") != strconv.Itoa(os.Getpid()) {
		return 3
	}
	switch role {
	case "dies":
		return 7
	case "fails":
		p.Fail(errors.New("the milk is sour"))
		return 1
	case "mute":
		time.Sleep(time.Minute)
	}
	l, err := p.Listener("door")
	if err != nil || l == nil || p.File("nothing") != nil {
		return 4
	}
	if p.Ready() != nil {
		return 6
	}
	if role == "dies late" {
		return 7
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, role)
			_ = c.Close()
		}
	}()
	if p.Serving("/here") != nil {
		return 5
	}
	p.Gone()
	return 0
}

// start starts a successor with a listener.
func start(t *testing.T, role string) (*Successor, net.Listener) {
	t.Helper()
	return startProgram(t, role, Program{})
}

// startProgram is start with a choice of how.
func startProgram(t *testing.T, role string, p Program) (*Successor, net.Listener) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	f, err := l.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.Path, p.Env = self, append(os.Environ(), roleVariable+"="+role, "WATCHDOG_PID=1") // the service manager's word for us
	s, err := Start(p, []File{{"door", f}, {"unused", f}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s, l
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestHandOver(t *testing.T) {
	t.Parallel()
	s, l := start(t, "heir")
	if err := s.Ready(soon(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.Go(); err != nil {
		t.Fatal(err)
	}
	if path, err := s.Serving(soon(t)); err != nil || path != "/here" {
		t.Fatalf("serving at %q, %v", path, err)
	}
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(c); err != nil || string(b) != "heir" {
		t.Errorf("the listener is served by %q (%v)", b, err)
	}
	_ = s.link.conn.Close() // as when this process ends
	<-s.Ended()
	if err := s.Err(); err != nil {
		t.Error(err)
	}
}

func TestSuccessorThatFails(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]string{
		"fails": "the milk is sour", "dies": "exit status 7", "mute": "no patience",
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			s, _ := start(t, role)
			ctx := soon(t)
			if role == "mute" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeoutCause(ctx, 50*time.Millisecond, errors.New("no patience"))
				defer cancel()
			}
			if err := s.Ready(ctx); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error is %v, want one that says %q", err, want)
			}
			select {
			case <-s.Ended():
			default:
				t.Error("it is still there")
			}
		})
	}
}

func TestSuccessorThatFailsLate(t *testing.T) {
	t.Parallel()
	s, _ := start(t, "dies late")
	if err := s.Ready(soon(t)); err != nil {
		t.Fatal(err)
	}
	_ = s.Go()
	if _, err := s.Serving(soon(t)); err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("error is %v", err)
	}
}

// TestOrphan has the predecessor die before it says go: the successor is told so.
func TestOrphan(t *testing.T) {
	t.Parallel()
	s, _ := start(t, "heir")
	if err := s.Ready(soon(t)); err != nil {
		t.Fatal(err)
	}
	_ = s.link.conn.Close()
	<-s.Ended()
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "exit status 6") {
		t.Errorf("it ended with %v", err)
	}
}

func TestNobodyToSucceed(t *testing.T) {
	t.Parallel()
	if p, err := Inherited(); p != nil || err != nil {
		t.Errorf("inherited %v, %v", p, err)
	}
}

func TestProgramThatIsNotThere(t *testing.T) {
	t.Parallel()
	if _, err := Start(Program{Path: "/nonexistent"}, nil); err == nil || !strings.Contains(err.Error(), "/nonexistent") {
		t.Errorf("error is %v", err)
	}
}
