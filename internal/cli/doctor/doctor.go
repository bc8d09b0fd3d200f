// Package doctor finds problems of a gateway and its surroundings, and explains each
// problem and its solution. The doctor may run at any time: the checks create no
// directory, take no lock needed by a daemon, and leave nothing behind. Only
// [Options.Fix] causes changes.
//
// A check never fails: every error becomes a finding, and the other checks continue.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/peercred"
	"bareclaw/internal/shellquote"
	"bareclaw/internal/statemark"
	"bareclaw/internal/term"
	"bareclaw/sessionhost/claude"
)

// Doctor looks for problems and prints how to solve them.
type Doctor struct {
	Fix     bool `help:"Mend what can be mended safely."`
	JSON    bool `name:"json" help:"Print JSON."`
	Turn    bool `default:"true" negatable:"" help:"Have claude answer once, which costs a call of the model."`
	Offline bool `help:"Ask nothing of the network."`
}

// Run runs all checks and prints the findings. Run fails if a problem is left.
func (d *Doctor) Run(c *command.Context) error {
	o := Options{
		Report:  config.Examine(c.Role),
		Version: c.Version,
		Self:    c.Self,
		Turn:    d.Turn,
		Offline: d.Offline,
		Fix:     d.Fix,
	}
	o.Environ, o.Services = os.Environ(), service.Local() // with the variables of .env files
	o.Spec, o.Unfit = serviceHere(c, o.Report.Config)
	wheel := command.StartSpinner(c.Err, "Looking")
	o.Progress = wheel.Show
	findings := Run(c.Context, o)
	wheel.End()
	if err := c.Context.Err(); err != nil {
		return err
	}
	if err := d.print(c, findings); err != nil {
		return fmt.Errorf("print what was found: %w", err)
	}
	if !Healthy(findings) {
		return command.ErrFailed
	}
	return nil
}

// serviceHere describes a service installed now, or returns why no service may be installed.
func serviceHere(c *command.Context, cfg config.Config) (service.Spec, error) {
	dir, err := config.WorkingDir()
	if err != nil {
		return service.Spec{}, err
	}
	spec, err := service.NewSpec(service.Request{
		Binary:   c.Self,
		Dir:      dir,
		Environ:  c.Environ,
		Claude:   string(cfg.Claude.Command),
		StateDir: cfg.StateDir(),
		Interval: time.Duration(cfg.Heartbeat.Interval),
		Echo:     cfg.Claude.Agent == config.AgentEcho,
	})
	if here, _ := os.Getwd(); here != dir { // the service would read other settings
		err = errors.Join(err, errors.New("this is not the directory where the gateway's .env is"))
	}
	return spec, err
}

func (d *Doctor) print(c *command.Context, findings []Finding) error {
	if !d.JSON {
		return Print(c.Out, findings, false)
	}
	return c.PrintJSON(struct {
		Healthy  bool      `json:"healthy"`
		Version  string    `json:"version"`
		Findings []Finding `json:"findings"`
	}{Healthy(findings), c.Version, findings})
}

// Options select the checks and carry their environment.
type Options struct {
	Report   config.Report
	EnvFile  string   // path of the user's file of settings; empty: that of Report
	Version  string   // version of the program
	Self     string   // path of the program's file
	Environ  []string // environment of the process, with additions from .env files
	Turn     bool     // request one answer of claude, which costs a call of the model
	Answered bool     // claude has answered just now, hence has a login
	Offline  bool     // use no network, and run no turn either
	Fix      bool     // apply the fixes that are safe

	// Services is the service manager of the user, nil if no known service manager
	// exists. Spec describes the service files; if Unfit is not nil, Spec must not be
	// installed for the reason in Unfit.
	Services service.Manager
	Spec     service.Spec
	Unfit    error

	// Progress, if not nil, is called with a text about the unfinished checks: at the start,
	// and when a check has ended while others run. Calls do not overlap.
	Progress func(text string)
}

// A Level is the severity of a finding.
type Level string

// The levels: healthy, worth knowing, worth changing, and preventing the gateway's work.
const (
	OK      Level = "ok"
	Note    Level = "note"
	Warning Level = "warning"
	Problem Level = "problem"
)

// A Finding is one result of a check.
type Finding struct {
	Check   string `json:"check"`
	Level   Level  `json:"level"`
	Code    string `json:"code,omitempty"` // a stable word; empty for OK
	What    string `json:"what"`           // a sentence
	Why     string `json:"why,omitempty"`  // the consequence
	Command string `json:"command,omitempty"`
	Fixable bool   `json:"fixable"`          // Options.Fix can fix the problem
	Fixed   bool   `json:"fixed"`            // the problem is fixed
	Failed  string `json:"failed,omitempty"` // why the fix failed

	mend func(context.Context) error // solves the problem
}

func (f *Finding) by(mend func(context.Context) error) { f.Fixable, f.mend = true, mend }

// Healthy reports whether no problem is left.
func Healthy(findings []Finding) bool {
	return !slices.ContainsFunc(findings, func(f Finding) bool { return f.Level == Problem && !f.Fixed })
}

// A report is one run of a check: the facts that the checks share, and the findings so far.
type report struct {
	*look
	found []Finding
}

func (r *report) ok(format string, args ...any) { r.add(OK, "", fmt.Sprintf(format, args...), "", "") }

func (r *report) note(code, what, why, command string) {
	r.add(Note, code, what, why, command)
}

func (r *report) warning(code, what, why, command string) *Finding {
	return r.add(Warning, code, what, why, command)
}

func (r *report) problem(code, what, why, command string) *Finding {
	return r.add(Problem, code, what, why, command)
}

func (r *report) add(level Level, code, what, why, command string) *Finding {
	r.found = append(r.found, Finding{Level: level, Code: code, What: what, Why: why, Command: command})
	return &r.found[len(r.found)-1]
}

// healthBound is the time limit for the gateway to report its health.
const healthBound = 5 * time.Second

// servicesBound is the time limit for a service manager to answer. servicesBound must be
// less than the limit of a check.
const servicesBound = 10 * time.Second

// A look holds the facts shared by several checks. Each fact is collected once.
type look struct {
	Options
	cfg       config.Config
	holder    func() holder
	mounts    func() (api.Mounts, error)    // likewise; how the mounted servers do
	observers func() (api.Observers, error) // likewise; the observers of web apps
	health    func() (api.Health, error)    // over the socket; the error is client.ErrUnreachable if no gateway runs
	claude    func() (path string, err error)
	keeper    func() error // why no service manager can run the gateway; nil if one answers

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
	_, _, err := peercred.TCPUID(nil, nil)
	l.tellsPeers = err != nil // where the system should know the user, the gateway refuses unknown users
	l.claude = sync.OnceValues(func() (string, error) { return exec.LookPath(string(l.cfg.Claude.Command)) })
	l.holder = sync.OnceValue(func() (h holder) {
		if l.cfg.StateDir() != "" {
			var err error
			h.Holder, h.alive, err = statemark.Gateway(l.cfg.StateDir())
			h.known = err == nil
		}
		return h
	})
	l.health = sync.OnceValues(func() (h api.Health, err error) {
		if holder := l.holder(); !holder.alive || holder.LacksWorker() {
			return h, client.ErrUnreachable
		}
		ctx, cancel := context.WithTimeout(context.Background(), healthBound)
		defer cancel()
		err = client.Local(l.cfg).Do(ctx, "GET", api.PathHealth, nil, &h)
		return h, err
	})
	l.mounts = sync.OnceValues(func() (now api.Mounts, err error) {
		if _, err := l.health(); err != nil {
			return now, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), healthBound)
		defer cancel()
		err = client.Local(l.cfg).Do(ctx, "GET", api.PathMounts, nil, &now)
		return now, err
	})
	l.observers = sync.OnceValues(func() (now api.Observers, err error) {
		if _, err := l.health(); err != nil {
			return now, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), healthBound)
		defer cancel()
		err = client.Local(l.cfg).Do(ctx, "GET", api.PathObservers, nil, &now)
		return now, err
	})
	l.keeper = sync.OnceValue(func() error {
		if l.Services == nil {
			return errNoServices
		}
		ctx, cancel := context.WithTimeout(context.Background(), servicesBound)
		defer cancel()
		return l.Services.Available(ctx)
	})
	return l
}

// errNoServices reports that the machine has no supported service manager.
var errNoServices = errors.New("there is no service manager here that is known")

// startGateway is the advice to start the gateway.
const startGateway = "bareclaw start"

// loginAdvice says how to log claude in.
func (l *look) loginAdvice() string {
	file := l.EnvFile
	if files := l.Report.Files; file == "" && len(files) > 0 { // the last one is the user's
		file = files[len(files)-1].Path
	}
	return claude.LoginAdvice(term.SafeLine(cmp.Or(file, "~/.config/bareclaw/.env")))
}

func (l *look) claudeEnviron() []string { return claude.Environ(l.Environ, l.cfg.Claude.PassEnv) }

// quote returns a path as one word of a shell's command line.
func quote(path string) string { return shellquote.Word(path) }
