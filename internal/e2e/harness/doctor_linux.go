package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a new terminal of that width: pty(7).
func openTerminal(t *testing.T, columns uint16) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("NOT TESTED: what a terminal shows: %v", err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	fd := int(screen.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Skipf("NOT TESTED: what a terminal shows: %v", err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: columns}); err != nil {
		t.Fatal(err)
	}
	return screen, terminal
}

// OnTerminal runs the program on a terminal and returns what that was told.
func (m *Machine) OnTerminal(columns uint16, args ...string) string {
	m.T.Helper()
	screen, terminal := openTerminal(m.T.(*testing.T), columns)
	self := Bareclaw(m.T)
	cmd := exec.Command(self, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = m.Env, m.Path("work"), terminal, terminal
	if err := cmd.Start(); err != nil {
		m.T.Fatal(err)
	}
	_ = terminal.Close() // so that the screen ends with the program
	var said bytes.Buffer
	if _, err := io.Copy(&said, screen); err != nil && !errors.Is(err, syscall.EIO) {
		m.T.Fatal(err)
	}
	_ = cmd.Wait() // its status tells what it found
	return said.String()
}
