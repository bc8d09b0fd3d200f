package doctor

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bareclaw/claude"
	"bareclaw/client"
	"bareclaw/core/config"
	"bareclaw/internal/procs"
	"bareclaw/internal/statelock"
)

// healthBound is how long the gateway may take to say how it does.
const healthBound = 5 * time.Second

// A look is what the checks share: what is asked once, and known to several.
type look struct {
	Options
	cfg    config.Config
	holder func() holder
	health func() (health, error)
	claude func() (path string, err error)
}

// A holder is the daemon that the state directory's lock file names.
type holder struct {
	statelock.Holder
	known bool // there is such a file, and it can be understood
	alive bool
}

// health is what is read of GET /health.
type health struct {
	PID      int
	Version  string
	Status   string
	Problems []string
	Agent    struct{ Kind, Path, Problem string }
	Telegram *struct {
		Ready   bool
		Problem string
		Failed  int
	}
}

func newLook(o Options) *look {
	l := &look{Options: o, cfg: o.Report.Config}
	l.holder = sync.OnceValue(l.readHolder)
	l.health = sync.OnceValues(l.askHealth)
	l.claude = sync.OnceValues(func() (string, error) { return exec.LookPath(l.cfg.Claude) })
	return l
}

func (l *look) readHolder() holder {
	if l.cfg.StateDir == "" {
		return holder{}
	}
	h, err := statelock.Read(filepath.Join(l.cfg.StateDir, statelock.Name))
	return holder{Holder: h, known: err == nil, alive: err == nil && procs.Alive(h.PID, h.Start)}
}

// askHealth asks the gateway over its socket. The error is [client.ErrUnreachable]
// where there is none.
func (l *look) askHealth() (h health, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), healthBound)
	defer cancel()
	if !l.holder().alive {
		return h, client.ErrUnreachable
	}
	return h, client.Local(l.cfg).Do(ctx, "GET", "/health", nil, &h)
}

// claudeEnviron is the environment that claude sees.
func (l *look) claudeEnviron() []string { return claude.Environ(l.Environ, l.cfg.PassEnv) }

// variable returns the value of a variable in an environment, the last one if there
// are several.
func variable(environ []string, name string) string {
	value := ""
	for _, entry := range environ {
		if n, v, _ := strings.Cut(entry, "="); n == name {
			value = v
		}
	}
	return value
}

// quote is a path as a shell takes it.
func quote(path string) string {
	if path != "" && strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:@,") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
