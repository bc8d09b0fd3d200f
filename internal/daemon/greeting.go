package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"bareclaw/core/config"
	"bareclaw/internal/term"
)

// A greeter is the standard error of a gateway that a person has started in a terminal. It holds
// the log back until the person has been greeted: the first line is for the person.
type greeter struct {
	out io.Writer

	mu      sync.Mutex
	held    bytes.Buffer
	greeted bool
}

// Write writes to the terminal, after the greeting.
func (g *greeter) Write(line []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.greeted {
		return g.held.Write(line)
	}
	return g.out.Write(line)
}

// greet writes the greeting and all that was held. More calls do nothing.
func (g *greeter) greet(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.greeted {
		return
	}
	g.greeted = true
	_, _ = io.WriteString(g.out, text)
	_, _ = g.held.WriteTo(g.out)
}

// greeting tells a person at a terminal where the gateway is and what comes next.
func greeting(address string, cfg config.Config, problem string) string {
	lines := []string{"BAREclaw is at http://" + address + "."}
	if problem != "" {
		lines = append(lines, term.SafeLine(problem))
	}
	_, err := os.Stat(filepath.Join(cfg.ConfigDir, ".env"))
	switch {
	case errors.Is(err, fs.ErrNotExist) && !cfg.HTTP.Token.IsSet():
		lines = append(lines, "Next, in another terminal: `bareclaw init` sets it up, or ask it something:",
			fmt.Sprintf(`  curl http://%s/message -H 'Content-Type: application/json' -d '{"text":"hello"}'`, address))
	default:
		lines = append(lines, "Next, in another terminal: `bareclaw chat`, or `bareclaw status`.")
	}
	return strings.Join(append(lines, "Ctrl-C ends it; what follows is its log.", ""), "\n") + "\n"
}
