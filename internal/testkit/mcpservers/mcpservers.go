// Package mcpservers starts MCP servers of other people, in pinned versions, on a Node.js of its own.
package mcpservers

import (
	"bufio"
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/chromium"
	"bareclaw/internal/testkit/npm"
)

// require makes servers that cannot be fetched a failure when it is 1.
const require = "BARECLAW_REQUIRE_MCP"

//go:embed testdata/npm
var packages embed.FS

// A Server is how a real server is started that speaks over its standard input and output.
type Server struct {
	Name    string // by which tests mount it
	Command string // an absolute path, except on macOS
	Args    []string
	Env     map[string]string // what the server needs beside PATH and HOME
	Tools   int               // the number of tools that it lists for a client without capabilities
}

// newServer returns a server that is a program of a package.
func newServer(t testing.TB, name string, tools int, program string, args ...string) Server {
	t.Helper()
	files, err := fs.Sub(packages, "testdata/npm")
	check.OK(t, err)
	modules := npm.Modules(t, "mcp-servers", files, require)
	return Server{
		Name:    name,
		Command: npm.Node(modules),
		Args:    append([]string{filepath.Join(modules, filepath.FromSlash(program))}, args...),
		Tools:   tools,
	}
}

// Everything returns @modelcontextprotocol/server-everything, which has an example of each kind of result.
func Everything(t testing.TB) Server {
	t.Helper()
	return newServer(t, "everything", 13, "@modelcontextprotocol/server-everything/dist/index.js")
}

// Filesystem returns @modelcontextprotocol/server-filesystem for the files below a directory.
func Filesystem(t testing.TB, dir string) Server {
	t.Helper()
	return newServer(t, "filesystem", 14, "@modelcontextprotocol/server-filesystem/dist/index.js", dir)
}

// Memory returns @modelcontextprotocol/server-memory, which keeps a graph of knowledge in a file.
func Memory(t testing.TB, file string) Server {
	t.Helper()
	s := newServer(t, "memory", 9, "@modelcontextprotocol/server-memory/dist/index.js")
	s.Env = map[string]string{"MEMORY_FILE_PATH": file}
	return s
}

// GitHub returns @modelcontextprotocol/server-github. Without a token it lists its tools, and no call
// succeeds. It annotates no tool.
func GitHub(t testing.TB) Server {
	t.Helper()
	return newServer(t, "github", 26, "@modelcontextprotocol/server-github/dist/index.js")
}

// Browser returns @playwright/mcp with the machine's Chromium: see chromium.Path. Each instance has a
// browser and a profile of its own.
func Browser(t testing.TB) Server {
	t.Helper()
	return newServer(t, "browser", 25, "@playwright/mcp/cli.js",
		"--headless", "--no-sandbox", "--isolated", "--executable-path", chromium.Path(t))
}

// Git returns @cyanheads/git-mcp-server for the repositories below a directory.
func Git(t testing.TB, dir string) Server {
	t.Helper()
	s := newServer(t, "git", 28, "@cyanheads/git-mcp-server/dist/index.js")
	s.Env = map[string]string{
		"GIT_BASE_DIR":  dir,
		"LOGS_DIR":      filepath.Join(t.TempDir(), "logs"),
		"MCP_LOG_LEVEL": "error",
	}
	return s
}

// All returns all servers, for the files below a directory.
func All(t testing.TB, dir string) []Server {
	t.Helper()
	return []Server{
		Everything(t),
		Filesystem(t, dir),
		Memory(t, filepath.Join(dir, "memory.jsonl")),
		GitHub(t),
		Browser(t),
		Git(t, dir),
	}
}

// Cmd returns a command that starts the server in a directory of its own, with no environment but what
// the server needs.
func (s Server) Cmd(ctx context.Context, t testing.TB) *exec.Cmd {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(ctx, s.Command, s.Args...)
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// EverythingOverHTTP starts Everything as a server of streamable HTTP, which ends with the test, and
// returns its URL.
func EverythingOverHTTP(t testing.TB) (url string) {
	t.Helper()
	port := freePort(t)
	s := Everything(t)
	s.Args = append(s.Args, "streamableHttp")
	s.Env = map[string]string{"PORT": port}
	cmd := s.Cmd(context.WithoutCancel(t.Context()), t)
	stderr, err := cmd.StderrPipe()
	check.OK(t, err)
	check.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the error says that it was killed
	})
	said := bufio.NewReader(stderr)
	for {
		line, err := said.ReadString('\n')
		if err != nil {
			t.Fatalf("the server did not start: %v: %s", err, line)
		}
		if strings.Contains(line, "listening on port") {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, said) }() // ends with the server
	return fmt.Sprintf("http://127.0.0.1:%s/mcp", port)
}

// freePort returns a port that nobody has.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	defer func() { check.OK(t, l.Close()) }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	check.OK(t, err)
	return port
}
