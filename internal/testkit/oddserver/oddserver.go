// Package oddserver is an MCP server for tests that misbehaves as it is told. It speaks over its standard
// input and output by lines that it writes itself: no SDK keeps it from anything.
//
// The test binary is the server too, when it is started as Command says; TestMain must call Main first.
// Without modes the server behaves well. Modes say how it starts and what it lists; see modes. Its tools
// do what their arguments say; see Args and actions.
package oddserver

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// subcommand makes the test binary a server.
const subcommand = "odd-mcp-server"

// lingerer makes the test binary a process that a server has left behind.
const lingerer = "odd-mcp-lingerer"

// Command returns the command line that starts a server with modes.
func Command(t testing.TB, modes ...string) (command string, args []string) {
	t.Helper()
	self, err := os.Executable()
	check.OK(t, err)
	return self, append([]string{subcommand}, modes...)
}

// Main is the server, and does not return, in a process that Command has started; in any other process
// it returns at once.
func Main() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case subcommand:
		os.Exit(run(os.Args[2:]))
	case lingerer:
		if err := linger(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitUsage)
		}
		os.Exit(exitOK)
	}
}

// Exit statuses.
const (
	exitOK    = 0
	exitUsage = 2
	exitDied  = 3 // in a call
)

// run serves until the input ends, and returns the exit status.
func run(args []string) int {
	s := newServer()
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		if name == "once" && !create(value) {
			break
		}
		set, known := modes[name]
		if !known {
			fmt.Fprintf(os.Stderr, "%q is not a mode\n", name)
			return exitUsage
		}
		set(s, value)
	}
	s.serve(os.Stdin)
	if s.stubborn {
		lingerFor(maxLife)
	}
	return exitOK
}

// create reports whether it could create a file, which nobody had created.
func create(path string) bool {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
