package service

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// TestSocketActivation runs the gateway as a unit whose sockets systemd has opened.
func TestSocketActivation(t *testing.T) {
	t.Parallel()
	underSystemd(t, map[string]func(*testing.T, *harness.UserManager){
		"is started": unitIsActivated, "comes and goes": socketsStayOpen, "is told apart by name": socketsWithNames,
	})
}

// machineOn returns a machine with a port.
func machineOn(t testing.TB, settings ...string) (m *harness.Machine, address string) {
	t.Helper()
	port := harness.FreePort(t)
	return harness.NewMachine(t, append(settings, "BARECLAW_PORT="+port)...), net.JoinHostPort("127.0.0.1", port)
}

// socket makes a socket unit for the service and starts it. Lines are of its [Socket]
// section.
func (u *unit) socket(name string, lines ...string) {
	u.T.Helper()
	name = strings.TrimSuffix(u.name, ".service") + name + ".socket"
	text := append([]string{"[Socket]", "Service=" + u.name, "DirectoryMode=0700"}, lines...)
	check.OK(u.T, os.WriteFile(filepath.Join(harness.RuntimeDir, "systemd/user", name), []byte(strings.Join(text, "\n")+"\n"), 0o600))
	u.systemctl("daemon-reload")
	u.systemctl("start", name)
	u.T.Cleanup(func() { _, _ = u.manager.Systemctl("stop", name) })
}

// unitIsActivated sends a message while no daemon runs: one is started and answers. Claude
// does not learn of the sockets.
func unitIsActivated(t *testing.T, manager *harness.UserManager) {
	for _, over := range []string{"tcp", "unix"} {
		m, address := machineOn(t)
		u := newUnit(m, manager, notify...)
		u.socket("", "ListenStream="+address, "ListenStream="+m.Path("run/api.sock"))
		if state := u.show("ActiveState"); state != "inactive" {
			t.Fatalf("the unit is %s before anybody asks", state)
		}
		u.Base = "http://" + address
		g := u.Gateway
		if over == "unix" {
			g = u.OverSocket()
		}
		g.Say("http", "echo hello").Want(t, "hello")
		u.found()
		u.isWell()
		for _, variable := range []string{"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"} {
			if got := u.Say("http", "env "+variable).Str("text"); strings.Contains(got, "=") {
				t.Errorf("claude has %s", got)
			}
		}
		u.Balanced()
	}
}

// socketsStayOpen has daemons hand over, fail to, be killed, be stopped and started:
// nobody who connects meanwhile is refused.
func socketsStayOpen(t *testing.T, manager *harness.UserManager) {
	m, address := machineOn(t)
	u := newUnit(m, manager, notify...)
	u.socket("", "ListenStream="+address, "ListenStream="+m.Path("run/api.sock"))
	u.Base = "http://" + address
	stop := make(chan struct{})
	var dialing sync.WaitGroup
	for network, to := range map[string]string{"tcp": address, "unix": m.Path("run/api.sock")} {
		dialing.Go(func() { dialUntil(t, stop, network, to) }) // ends below
	}
	claude := u.Say("http", "pid").Str("text")
	for name, happens := range map[string]func(){
		"hands over": func() { u.handOver(u.restart); u.handOver(u.reload) },
		"is killed":  u.killMain,
		"is stopped": func() { u.systemctl("stop", u.name) },
	} {
		happens()
		u.HTTP.CloseIdleConnections() // they were its own
		if now := u.Say("http", "pid").Str("text"); now != claude {
			t.Errorf("after it %s claude was %s and is %s", name, claude, now)
		}
		u.found()
		u.systemctl("reset-failed", u.name) // NRestarts is 0 again
		u.handOver(u.restart)
		if got := environ(t, u.Worker()); strings.Contains(got, "\x00LISTEN_") {
			t.Errorf("after it %s a successor's environment speaks of the sockets", name)
		}
		u.OverSocket().Say("http", "echo hello").Want(t, "hello")
	}
	close(stop)
	dialing.Wait()
	u.Balanced()
}

// dialUntil connects again and again, and fails when it cannot.
func dialUntil(t *testing.T, stop <-chan struct{}, network, address string) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-time.After(10 * time.Millisecond): // nothing waits for this: it is how often is asked
		}
		c, err := net.Dial(network, address)
		if err != nil {
			t.Errorf("connection %d: %v", n, err)
			return
		}
		_ = c.Close()
	}
}

// socketsWithNames has each socket come of a unit of its own.
func socketsWithNames(t *testing.T, manager *harness.UserManager) {
	m, address := machineOn(t)
	u := newUnit(m, manager, notify...)
	u.socket("-a", "FileDescriptorName=api", "ListenStream="+m.Path("run/api.sock"))
	u.socket("-h", "FileDescriptorName=http", "ListenStream="+address)
	u.Base = "http://" + address
	u.Say("http", "echo hello").Want(t, "hello")
	u.found()
	u.handOver(u.restart)
	u.Say("http", "echo again").Want(t, "again")
}

// passes returns a command that starts another with sockets, and connects to the first of
// them, since it waits for that.
func passes(m *harness.Machine, sockets ...string) []string {
	m.T.Helper()
	path, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		m.T.Skip("NOT TESTED: sockets passed by hand: systemd-socket-activate is missing")
	}
	command := []string{path}
	for _, s := range sockets {
		command = append(command, "--listen="+s)
	}
	for _, v := range m.Env {
		command = append(command, "--setenv="+v)
	}
	go knock(m, sockets[0])
	return command
}

// knock connects as soon as that is possible, to a socket of whatever kind.
func knock(m *harness.Machine, address string) {
	for deadline := time.Now().Add(harness.Patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		for _, network := range []string{"tcp", "unix", "unixpacket"} {
			if c, err := net.Dial(network, address); err == nil {
				_ = c.Close()
				return
			}
		}
	}
}

// TestSocketsThatAreRefused passes what the gateway cannot use: it says why and does
// not serve.
func TestSocketsThatAreRefused(t *testing.T) {
	t.Parallel()
	other, second := net.JoinHostPort("127.0.0.1", harness.FreePort(t)), net.JoinHostPort("127.0.0.1", harness.FreePort(t))
	for name, c := range map[string]struct {
		sockets func(m *harness.Machine, address string) []string
		more    string
		want    []string
	}{
		"another port":   {func(*harness.Machine, string) []string { return []string{other} }, "", []string{other, "(BARECLAW_HOST, BARECLAW_PORT)"}},
		"another path":   {func(m *harness.Machine, a string) []string { return []string{a, m.Path("work/x.sock")} }, "", []string{"/work/x.sock", "/run/api.sock (BARECLAW_RUNTIME_DIR)"}},
		"two for HTTP":   {func(_ *harness.Machine, a string) []string { return []string{a, second} }, "", []string{"another listening tcp socket"}},
		"another kind":   {func(_ *harness.Machine, a string) []string { return []string{a} }, "--fdname=api", []string{"passes api: it is a listening tcp socket", "must be a unix socket"}},
		"another packet": {func(m *harness.Machine, _ string) []string { return []string{m.Path("run/api.sock")} }, "--seqpacket", []string{"not a listening TCP or Unix socket"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, address := machineOn(t)
			command := passes(m, c.sockets(m, address)...)
			if c.more != "" {
				command = append(command, c.more)
			}
			self := harness.Bareclaw(t)
			ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
			defer cancel()
			out, err := exec.CommandContext(ctx, command[0], append(command[1:], self, "serve")...).CombinedOutput()
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != harness.ExitFailure {
				t.Errorf("it ends with %v, want exit status %d", err, harness.ExitFailure)
			}
			for _, want := range c.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("it says %s, want %q", out, want)
				}
			}
		})
	}
}
