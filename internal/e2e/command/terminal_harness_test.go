package command

import (
	"os/exec"

	"bareclaw/internal/e2e/harness"
)

// display runs a command of the program on the machine, in its work directory.
func display(m *harness.Machine, args ...string) *harness.Display {
	m.T.Helper()
	cmd := exec.Command(m.Executable(), args...)
	cmd.Dir, cmd.Env = m.Path("work"), append([]string{"TERM=xterm-256color"}, m.Env...)
	return m.Displayed(cmd)
}
