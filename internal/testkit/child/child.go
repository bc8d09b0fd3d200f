// Package child starts processes for tests.
package child

import (
	"bufio"
	"io"
	"os/exec"
	"testing"
)

// Start starts a command that prints a line when it runs, and ends at the latest when its
// standard input ends, with the test. Start returns the line, and the standard input.
func Start(t testing.TB, cmd *exec.Cmd) (line string, stdin io.WriteCloser) {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait() // an error too if the test has waited already
	})
	if line, err = bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("the child did not start: %v", err)
	}
	return line, stdin
}
