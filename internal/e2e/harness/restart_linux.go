package harness

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"bareclaw/internal/testkit/check"
)

// coming is how many processes may be started on the whole machine before the one
// whose number is guessed.
const coming = 4000

// Ahead calls leave with the path that each of the next processes would listen on
// for its predecessor.
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
