package client

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bareclaw/core/config"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"
)

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

// TestNothingForStrangers: another user listens in the place of a gateway that is down.
func TestNothingForStrangers(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "bcs")
	check.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	check.OK(t, os.Chmod(dir, 0o777))
	tcp := roottest.ListenAs(t, roottest.Stranger, "tcp", "127.0.0.1:0", okAnswer)
	unix := roottest.ListenAs(t, roottest.Stranger, "unix", filepath.Join(dir, "api.sock"), okAnswer)
	cfg := config.Config{
		HTTP:  config.HTTP{Token: config.HTTPToken{Secret: config.NewSecret("sesame")}},
		Files: config.Files{StateDir: config.Path(t.TempDir())},
	}
	for name, c := range map[string]*Client{
		"TCP": At(cfg, tcp.Addr().String(), false), "TCP, a gateway is on record": At(cfg, tcp.Addr().String(), true),
		"Unix": OverSocket(unix.Addr().String()),
	} {
		err := c.Do(t.Context(), "POST", "/approvals/a", map[string]string{"behavior": "allow"}, nil)
		if err == nil || !strings.Contains(err.Error(), "another user (uid 65534)") || errors.Is(err, ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := tcp.Got() + unix.Got(); got != "" {
		t.Errorf("the stranger got %q", got)
	}
	// Root commands the gateway of the user to whom the state directory belongs.
	lock := filepath.Join(cfg.StateDir(), lockfile.StateLockName)
	check.OK(t, os.WriteFile(lock, nil, 0o600))
	check.OK(t, os.Chown(lock, roottest.Stranger, -1))
	check.OK(t, At(cfg, tcp.Addr().String(), false).Do(t.Context(), "GET", "/health", nil, nil))
}

// TestNothingForNobody: a program that does not accept has no user yet.
func TestNothingForNobody(t *testing.T) {
	t.Parallel()
	l := listen(t)
	c := At(config.Config{HTTP: config.HTTP{Token: config.HTTPToken{Secret: config.NewSecret("sesame")}}}, l.Addr().String(), true)
	begun := make(chan error, 1)
	go func() { begun <- c.Do(t.Context(), "GET", "/health", nil, nil) }()
	select {
	case err := <-begun:
		t.Fatalf("a request without somebody who has accepted: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	conn, err := l.Accept()
	check.OK(t, err)
	defer func() { _ = conn.Close() }()
	buf := make([]byte, 4096)
	n, err := conn.Read(buf)
	check.OK(t, err)
	if !strings.Contains(string(buf[:n]), "Bearer sesame") {
		t.Errorf("the gateway got %q", buf[:n])
	}
	check.OK(t, conn.Close())
	if err := <-begun; err == nil {
		t.Error("a connection that was closed has an answer")
	}
}
