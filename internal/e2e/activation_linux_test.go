package e2e

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

	"bareclaw/internal/proc"
)

// TestSocketActivation runs the gateway as a unit whose sockets systemd has opened.
func TestSocketActivation(t *testing.T) {
	t.Parallel()
	withUserManager(t, func(t *testing.T, manager *userManager) {
		for name, test := range map[string]func(*testing.T, *userManager){
			"is started": unitIsActivated, "comes and goes": socketsStayOpen, "is told apart by name": socketsWithNames,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, manager)
			})
		}
	})
}

// machineOn returns a machine with a port.
func machineOn(t testing.TB, settings ...string) (m *machine, address string) {
	t.Helper()
	port := freePort(t)
	return newMachine(t, append(settings, "BARECLAW_PORT="+port)...), net.JoinHostPort("127.0.0.1", port)
}

// socket makes a socket unit for the service and starts it. Lines are of its [Socket]
// section.
func (u *unit) socket(name string, lines ...string) {
	u.t.Helper()
	name = strings.TrimSuffix(u.name, ".service") + name + ".socket"
	text := append([]string{"[Socket]", "Service=" + u.name, "DirectoryMode=0700"}, lines...)
	if err := os.WriteFile(filepath.Join(runtimeDir, "systemd/user", name), []byte(strings.Join(text, "\n")+"\n"), 0o600); err != nil {
		u.t.Fatal(err)
	}
	u.systemctl("daemon-reload")
	u.systemctl("start", name)
	u.t.Cleanup(func() { _, _ = u.manager.systemctl("stop", name) })
}

// unitIsActivated sends a message while no daemon runs: one is started and answers. Claude
// does not learn of the sockets.
func unitIsActivated(t *testing.T, manager *userManager) {
	for _, over := range []string{"tcp", "unix"} {
		m, address := machineOn(t)
		u := m.newUnit(manager, notify...)
		u.socket("", "ListenStream="+address, "ListenStream="+m.path("run/api.sock"))
		if state := u.show("ActiveState"); state != "inactive" {
			t.Fatalf("the unit is %s before anybody asks", state)
		}
		u.base = "http://" + address
		g := u.gateway
		if over == "unix" {
			g = u.overSocket()
		}
		g.say("http", "echo hello").want(t, "hello")
		u.found()
		u.isWell()
		for _, variable := range []string{"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"} {
			if got := u.say("http", "env "+variable).str("text"); strings.Contains(got, "=") {
				t.Errorf("claude has %s", got)
			}
		}
		u.balanced()
	}
}

// socketsStayOpen has daemons hand over, fail to, be killed, be stopped and started:
// nobody who connects meanwhile is refused.
func socketsStayOpen(t *testing.T, manager *userManager) {
	m, address := machineOn(t)
	u := m.newUnit(manager, notify...)
	u.socket("", "ListenStream="+address, "ListenStream="+m.path("run/api.sock"))
	u.base = "http://" + address
	stop := make(chan struct{})
	var dialing sync.WaitGroup
	for network, to := range map[string]string{"tcp": address, "unix": m.path("run/api.sock")} {
		dialing.Go(func() { dialUntil(t, stop, network, to) }) // ends below
	}
	claude := u.say("http", "pid").str("text")
	for name, happens := range map[string]func(){
		"hands over": func() { u.handOver(u.restart); u.handOver(u.reload) },
		"fails":      func() { u.failsToTakeOver() },
		"is killed": func() {
			h := u.lockFile()
			u.killMain()
			m.eventually("it is gone", func() bool { return !proc.Alive(h.PID, h.Start) })
		},
		"is stopped": func() { u.systemctl("stop", u.name) },
	} {
		happens()
		u.http.CloseIdleConnections() // they were its own
		if now := u.say("http", "pid").str("text"); now != claude {
			t.Errorf("after it %s claude was %s and is %s", name, claude, now)
		}
		u.found()
		u.systemctl("reset-failed", u.name) // NRestarts is 0 again
		u.handOver(u.restart)
		if got := environ(t, u.lockFile().PID); strings.Contains(got, "\x00LISTEN_") {
			t.Errorf("after it %s a successor's environment speaks of the sockets", name)
		}
		u.overSocket().say("http", "echo hello").want(t, "hello")
	}
	close(stop)
	dialing.Wait()
	u.balanced()
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
func socketsWithNames(t *testing.T, manager *userManager) {
	m, address := machineOn(t)
	u := m.newUnit(manager, notify...)
	u.socket("-a", "FileDescriptorName=api", "ListenStream="+m.path("run/api.sock"))
	u.socket("-h", "FileDescriptorName=http", "ListenStream="+address)
	u.base = "http://" + address
	u.say("http", "echo hello").want(t, "hello")
	u.found()
	u.handOver(u.restart)
	u.say("http", "echo again").want(t, "again")
}

// TestSocketsPassedByHand runs the gateway below systemd-socket-activate, where nobody
// is told of anything.
func TestSocketsPassedByHand(t *testing.T) {
	t.Parallel()
	m, address := machineOn(t)
	c := m.passes(address, m.path("run/api.sock"))
	g := m.start(c...)
	if g.base != "http://"+address {
		t.Errorf("it serves at %s, want %s", g.base, address)
	}
	local := &gateway{machine: m, base: "http://localhost", http: g.local()}
	g.say("http", "echo hello").want(t, "hello")
	for range 2 {
		generation := g.generation()
		g.must("POST", "/restart", nil, 200)
		g.restarted(generation)
	}
	local.say("http", "echo again").want(t, "again")
	g.failsToTakeOver()
	local.say("http", "echo once more").want(t, "once more")
	g.say("http", "echo and more").want(t, "and more")
	if h := m.lockFile(); "http://"+h.Address != "http://"+address || !proc.Alive(h.PID, h.Start) {
		t.Errorf("it serves at %s, want %s", h.Address, address)
	}
	g.balanced()
}

// passes returns a command that starts another with sockets, and connects to the first of
// them, since it waits for that.
func (m *machine) passes(sockets ...string) []string {
	m.t.Helper()
	path, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		m.t.Skip("NOT TESTED: sockets passed by hand: systemd-socket-activate is missing")
	}
	command := []string{path}
	for _, s := range sockets {
		command = append(command, "--listen="+s)
	}
	for _, v := range m.env {
		command = append(command, "--setenv="+v)
	}
	go m.knock(sockets[0])
	return command
}

// knock connects as soon as that is possible, to a socket of whatever kind.
func (m *machine) knock(address string) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
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
	other, second := net.JoinHostPort("127.0.0.1", freePort(t)), net.JoinHostPort("127.0.0.1", freePort(t))
	for name, c := range map[string]struct {
		sockets func(m *machine, address string) []string
		more    string
		want    []string
	}{
		"another port":   {func(*machine, string) []string { return []string{other} }, "", []string{other, "(BARECLAW_HOST, BARECLAW_PORT)"}},
		"another path":   {func(m *machine, a string) []string { return []string{a, m.path("work/x.sock")} }, "", []string{"/work/x.sock", "/run/api.sock (BARECLAW_RUNTIME_DIR)"}},
		"two for HTTP":   {func(_ *machine, a string) []string { return []string{a, second} }, "", []string{"another listening tcp socket"}},
		"another kind":   {func(_ *machine, a string) []string { return []string{a} }, "--fdname=api", []string{"passes api: it is a listening tcp socket", "must be a unix socket"}},
		"another packet": {func(m *machine, _ string) []string { return []string{m.path("run/api.sock")} }, "--seqpacket", []string{"no listening TCP or Unix socket"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, address := machineOn(t)
			command := m.passes(c.sockets(m, address)...)
			if c.more != "" {
				command = append(command, c.more)
			}
			self := bareclaw(t)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			out, err := exec.CommandContext(ctx, command[0], append(command[1:], self, "serve")...).CombinedOutput()
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != exitFailure {
				t.Errorf("it ends with %v, want exit status %d", err, exitFailure)
			}
			for _, want := range c.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("it says %s, want %q", out, want)
				}
			}
		})
	}
}
