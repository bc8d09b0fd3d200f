package doctor

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/peercred"
	"bareclaw/internal/statemark"
	"bareclaw/sessionhost/claude"
)

// healthBound is the time limit for the gateway to report its health.
const healthBound = 5 * time.Second

// servicesBound is the time limit for a service manager to answer. servicesBound must be
// less than the limit of a check.
const servicesBound = 10 * time.Second

// A look holds the facts shared by several checks. Each fact is collected once.
type look struct {
	Options
	cfg    config.Config
	holder func() holder
	health func() (api.Health, error)
	claude func() (path string, err error)
	keeper func() error // nil if a service manager answers

	tellsPeers bool // the system tells which user is at the other end of a TCP connection
}

// A holder is the daemon described in the state directory's lock file.
type holder struct {
	lockfile.Holder
	known bool // the lock file exists and can be parsed
	alive bool
}

func newLook(o Options) *look {
	l := &look{Options: o, cfg: o.Report.Config}
	l.holder = sync.OnceValue(l.readHolder)
	l.health = sync.OnceValues(l.askHealth)
	l.keeper = sync.OnceValue(l.askServices)
	_, _, err := peercred.TCPUID(nil, nil)
	l.tellsPeers = err != nil // where the system should know the user, the gateway refuses unknown users
	l.claude = sync.OnceValues(func() (string, error) { return exec.LookPath(l.cfg.Claude) })
	return l
}

func (l *look) readHolder() holder {
	if l.cfg.StateDir == "" {
		return holder{}
	}
	h, alive, err := statemark.Gateway(l.cfg.StateDir)
	return holder{Holder: h, known: err == nil, alive: alive}
}

// askHealth queries the gateway's socket. The error is [client.ErrUnreachable] if no
// gateway runs.
func (l *look) askHealth() (h api.Health, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), healthBound)
	defer cancel()
	if !l.holder().alive {
		return h, client.ErrUnreachable
	}
	return h, client.Local(l.cfg).Do(ctx, "GET", api.PathHealth, nil, &h)
}

// errNoServices reports that the machine has no supported service manager.
var errNoServices = errors.New("there is no service manager here that is known")

// askServices returns why no service manager can run the gateway, nil if a service
// manager answers.
func (l *look) askServices() error {
	if l.Services == nil {
		return errNoServices
	}
	ctx, cancel := context.WithTimeout(context.Background(), servicesBound)
	defer cancel()
	return l.Services.Available(ctx)
}

// startGateway returns the advice to start the gateway: as a service only if a service
// manager answers.
func (l *look) startGateway() string {
	if l.keeper() != nil {
		return "`bareclaw serve` in a terminal"
	}
	return "`bareclaw service install`, or `bareclaw serve` in a terminal"
}

func (l *look) claudeEnviron() []string { return claude.Environ(l.Environ, l.cfg.PassEnv) }

// quote quotes a path for a shell.
func quote(path string) string {
	if path != "" && strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:@,") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
