package command

import (
	"os/exec"
	"slices"

	"bareclaw/internal/e2e/harness"
)

// display runs a command of the program on the machine, in its work directory.
func display(m *harness.Machine, args ...string) *harness.Display {
	m.T.Helper()
	self := harness.Bareclaw(m.T)
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.Env = m.Path("work"), append(slices.Clone(m.Env), "TERM=xterm-256color")
	return m.Displayed(cmd)
}
