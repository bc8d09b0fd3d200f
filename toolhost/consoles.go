package toolhost

import (
	"slices"
	"sync"

	"bareclaw/core"
	"bareclaw/core/tools"
)

// maxConsoles is the number of calls whose console is kept.
const maxConsoles = 64

// consoles keep what the last call of each tool by each caller has written to the console: the author of a tool
// looks there, and nobody sees what a tool has written for others. All methods are safe for concurrent use.
type consoles struct {
	mu    sync.Mutex // guards the fields below
	lines map[consoleKey][]string
	order []consoleKey // the oldest first
}

type consoleKey struct {
	tool    string
	channel core.ChannelKey
	local   bool
}

func newConsoles() *consoles { return &consoles{lines: map[consoleKey][]string{}} }

// keep keeps the lines of a call, in place of those of the same caller's earlier call.
func (c *consoles) keep(tool string, call tools.Call, lines []string) {
	key := consoleKey{tool, call.Channel, call.Local}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.lines[key]; known {
		c.order = slices.DeleteFunc(c.order, func(k consoleKey) bool { return k == key })
		delete(c.lines, key)
	}
	if len(lines) == 0 {
		return
	}
	if len(c.order) == maxConsoles {
		delete(c.lines, c.order[0])
		c.order = slices.Delete(c.order, 0, 1)
	}
	c.lines[key], c.order = lines, append(c.order, key)
}

// of returns the lines of the caller's last call of a tool.
func (c *consoles) of(tool string, call tools.Call) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines[consoleKey{tool, call.Channel, call.Local}]
}
