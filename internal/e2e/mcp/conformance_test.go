package mcp

import (
	"context"
	"log/slog"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/adapters/httpapi"
	"bareclaw/adapters/httpapi/api"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/npm"
	"bareclaw/mcp"
)

// suites returns the node_modules of other people's programs, and a node that runs them.
func suites(t *testing.T) (modules, node string) {
	t.Helper()
	modules = npm.Modules(t, "mcp-suites", os.DirFS("internal/e2e/mcp/testdata/suites"), "BARECLAW_REQUIRE_MCP")
	return modules, npm.Node(modules)
}

// runNode runs a program for node, and returns what it says. The test fails if the program does.
func runNode(t *testing.T, env []string, node string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node, args...)
	path := os.Getenv("PATH")
	for _, v := range env {
		if is, ok := strings.CutPrefix(v, "PATH="); ok {
			path = is
		}
	}
	cmd.Env = append(slices.Clone(env), "PATH="+filepath.Dir(node)+":"+path, "NO_COLOR=1") // the programs start other programs by name
	cmd.Dir, cmd.WaitDelay = t.TempDir(), time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// withToken returns a server that sends requests on to an address with a token, which the suites cannot
// do: they want a page of the server's own origin served, and without a token there is none.
func withToken(t *testing.T, address, token string) *httptest.Server {
	t.Helper()
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", address, r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
		FlushInterval: -1, // streams
		ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo),
	})
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	return front
}

// token is that of the API in these tests.
const token = "correct-horse-battery-staple"

// serve serves a handler of /mcp behind the checks of the API until the end of the test, and returns the
// address.
func serve(t *testing.T, h *mcp.Handler) (address string) {
	t.Helper()
	mount := httpapi.Mount{
		Routes:   api.MCPRoutes(),
		Handler:  h,
		IsStream: mcp.IsStream,
	}
	server := httpapi.New(httpapi.Options{
		Mounts: []httpapi.Mount{mount},
		Log:    slog.New(slog.DiscardHandler),
		Token:  token,
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		check.OK(t, server.Shutdown(context.Background(), httpapi.ShuttingDown))
		check.OK(t, <-served)
	})
	return l.Addr().String()
}

// TestConformance holds the handler of /mcp, behind the checks of the API, to the suites of the
// protocol, which also say what is conformance and what an extension.
func TestConformance(t *testing.T) {
	t.Parallel()
	modules, node := suites(t)
	log := slog.New(slog.DiscardHandler)
	address := serve(t, mcp.NewHandler(newFixture(log), log))
	front := withToken(t, address, token)
	for _, c := range []struct {
		suite, requirements, passes string
	}{
		{"conformance", "", "Total: 40 passed, 0 failed"},
		{"conformance-next", "2025-11-25", "Total: 84 passed, 0 failed"},
		{"conformance-next", "2026-07-28", "Total: 165 passed"}, // what fails is of an extension
	} {
		t.Run(c.suite+c.requirements, func(t *testing.T) {
			t.Parallel()
			args := []string{filepath.Join(modules, c.suite, "dist", "index.js"), "server", "--url", front.URL + "/mcp"}
			if c.requirements != "" {
				args = append(args, "--requirements", c.requirements)
			}
			if said := runNode(t, []string{"HOME=" + t.TempDir()}, node, args...); !strings.Contains(said, c.passes) {
				t.Errorf("want %q in\n%s", c.passes, said)
			}
		})
	}
}

// TestBagConforms holds the address of a bag of a real gateway to those scenarios of the suites that need no tools
// of their own.
func TestBagConforms(t *testing.T) {
	modules, node := suites(t)
	_, g := harness.Started(t, "BARECLAW_HTTP_TOKEN="+harness.Token)
	front := withToken(t, strings.TrimPrefix(g.Base, "http://"), harness.Token)
	env := []string{"HOME=" + t.TempDir()}
	for version, scenarios := range map[string][]string{
		"2025-06-18": {"server-initialize", "ping", "tools-list", "logging-set-level"},
		"2025-11-25": {"server-initialize", "ping", "tools-list", "server-sse-multiple-streams", "dns-rebinding-protection"},
		"2026-07-28": {"tools-list", "caching", "http-header-validation", "server-sse-multiple-streams"},
	} {
		for _, scenario := range scenarios {
			t.Run(version+" "+scenario, func(t *testing.T) {
				t.Parallel()
				suite := filepath.Join(modules, "conformance-next", "dist", "index.js")
				said := runNode(t, env, node, suite, "server", "--url", front.URL+"/mcp/bags/meta", "--spec-version", version, "--scenario", scenario)
				if !strings.Contains(said, "0 failed") {
					t.Errorf("the suite says\n%s", said)
				}
			})
		}
	}
}
