package mcp

import (
	"context"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/heartbeat/supervisor"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// versions are those of clients with sessions and without.
var versions = []string{"2025-11-25", "2026-07-28"}

// connect connects a client that speaks a version.
func connect(t *testing.T, transport sdk.Transport, version string) *sdk.ClientSession {
	t.Helper()
	return connectWith(t, nil, transport, version)
}

// connectWith is connect for a client with options.
func connectWith(t *testing.T, options *sdk.ClientOptions, transport sdk.Transport, version string) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options)
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	session, err := client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	check.OK(t, err)
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("the version is %s, want %s", got, version)
	}
	return session
}

// works calls a tool.
func works(t *testing.T, session *sdk.ClientSession) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "channel_list"})
	check.OK(t, err)
	if s, ok := result.StructuredContent.(map[string]any); !ok || s["channels"] == nil {
		t.Errorf("the result is %v", result.StructuredContent)
	}
}

// killWorker kills the daemon below its supervisor, which starts another one.
func killWorker(m *harness.Machine) {
	m.T.Helper()
	h := m.LockFile()
	check.OK(m.T, proc.Signal(h.Worker, h.WorkerStart, syscall.SIGKILL))
	m.Eventually("another daemon", func() bool { return m.LockFile().Worker != h.Worker })
}

// restart has another daemon take over while clients are attached, and waits for the end of the
// one before.
func restart(g *harness.Gateway) {
	g.T.Helper()
	h := g.LockFile()
	g.Restart()
	g.Eventually("the daemon before has ended", func() bool { return !proc.Alive(h.Worker, h.WorkerStart) })
}

// TestSessionsOutliveTheDaemon goes on with a session over HTTP after the daemon was killed, and
// after another one has taken over. Attached clients do not hold the old one.
func TestSessionsOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			m, g := harness.Started(t, supervisor.CrashVariable+"=")
			var sessions []*sdk.ClientSession
			for _, path := range []string{"/mcp", "/mcp/bags/orchestration"} {
				session := connect(t, &sdk.StreamableClientTransport{Endpoint: g.Base + path, HTTPClient: g.HTTP, MaxRetries: 100}, version)
				defer func() { _ = session.Close() }()
				sessions = append(sessions, session)
			}
			work := func() {
				t.Helper()
				for _, session := range sessions {
					works(t, session)
				}
			}
			work()
			killWorker(m)
			g.HTTP.CloseIdleConnections()
			work()
			restart(g)
			work()
		})
	}
}

// TestBridgeOutlivesTheGateway starts a client's program without a gateway, and ends the gateway
// below it in every way.
func TestBridgeOutlivesTheGateway(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t, supervisor.CrashVariable+"=")
			t.Cleanup(m.KillHolder) // which the bridge has started
			session := connect(t, &sdk.CommandTransport{Command: m.Prepare("mcp", "--dir", m.Path("work"))}, version)
			works(t, session)
			bag := connect(t, &sdk.CommandTransport{Command: m.Prepare("mcp", "--dir", m.Path("work"), "--bag", "orchestration")}, version)
			works(t, bag)
			if _, err := bag.CallTool(t.Context(), &sdk.CallToolParams{Name: "worker_status"}); err == nil {
				t.Error("a tool of another bag was called")
			}
			check.OK(t, bag.Close())

			h := m.LockFile()
			check.OK(t, proc.Signal(h.Worker, h.WorkerStart, syscall.SIGSTOP))
			pending := make(chan error, 1)
			go func() {
				_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "channel_list"})
				pending <- err
			}()
			killWorker(m)
			if err := <-pending; err != nil { // channel_list only reads
				t.Errorf("a call while the daemon was killed: %v", err)
			}
			works(t, session)

			h = m.LockFile()
			m.KillHolder() // supervisor and daemon
			m.Eventually("the gateway has ended", func() bool { return !proc.Alive(h.PID, h.Start) && !proc.Alive(h.Worker, h.WorkerStart) })
			works(t, session)

			m.Invoke(nil, "restart").Wait(harness.ExitOK)
			works(t, session)

			m.Invoke(nil, "stop").Wait(harness.ExitOK)
			if _, err := session.ListTools(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "was stopped by you") {
				t.Errorf("a request after a person has stopped the gateway: %v", err)
			}
			check.OK(t, session.Close()) // ends the program's input, and waits for its end
		})
	}
}
