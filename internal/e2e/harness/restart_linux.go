package harness

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"bareclaw/internal/testkit/check"
)

// coming is how many processes may start on the whole machine, so that the next worker's
// process id is among those that Ahead covers.
const coming = 4000

// Ahead calls leave with the path of the hand-over socket of each of the next process ids.
func (m *Machine) Ahead(leave func(path string) error) {
	m.T.Helper()
	b, err := os.ReadFile("/proc/loadavg")
	check.OK(m.T, err)
	fields := strings.Fields(string(b))
	last, err := strconv.Atoi(fields[len(fields)-1])
	check.OK(m.T, err)
	for pid := last + 1; pid < last+coming; pid++ {
		check.OK(m.T, leave(m.Path(fmt.Sprintf("run/handover-%d.sock", pid))))
	}
}
