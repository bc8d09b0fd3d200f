// Package child starts processes for tests.
package child

import (
	"bufio"
	"io"
	"os/exec"
	"testing"

	"bareclaw/internal/testkit/check"
)

// Start starts a command that prints a line when it runs, and ends at the latest when its
// standard input ends, with the test. Start returns the line, and the standard input.
func Start(t testing.TB, cmd *exec.Cmd) (line string, stdin io.WriteCloser) {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	check.OK(t, err)
	stdout, err := cmd.StdoutPipe()
	check.OK(t, err)
	check.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait() // an error too if the test has waited already
	})
	if line, err = bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("the child did not start: %v", err)
	}
	return line, stdin
}
