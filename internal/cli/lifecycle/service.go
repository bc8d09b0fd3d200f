package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/statemark"
	"bareclaw/internal/term"
)

// Service groups the commands of the service.
type Service struct {
	Install   ServiceInstall   `cmd:"" help:"Install the gateway's service and start it, or bring it up to date."`
	Uninstall ServiceUninstall `cmd:"" help:"Stop the gateway and remove its service. What it keeps, as its ledger, stays."`
	Start     ServiceStart     `cmd:"" help:"Start the service."`
	Stop      ServiceStop      `cmd:"" help:"Stop the service; it stays down until you start it, or the machine has booted."`
	Restart   ServiceRestart   `cmd:"" help:"Stop the service and start it; sessions go on."`
	Status    ServiceStatus    `cmd:"" help:"Show whether the service is installed and runs."`
}

// where is where a service is installed.
type where struct {
	System string `help:"Service manager: systemd or launchd; that of this system if none is given." enum:"systemd,launchd," default:"" placeholder:"NAME"`
	Dir    string `help:"Working directory, whose .env is read; this one if a gateway has read the .env in it before, else your home." type:"path" placeholder:"DIR"`
}

// place is where and how a service is installed.
type place struct {
	where
	Binary string `help:"Program that the service runs, if not this one." type:"path" placeholder:"FILE"`
}

func (w where) manager() service.Manager {
	if w.System == "" {
		return service.Local()
	}
	return service.For(service.System(w.System))
}

// enter changes to the service's working directory, so that the service's configuration is
// read. Its .env counts as for the gateway: the directory is the home, on record, or named by a
// person.
func (w where) enter(c *command.Context) (dir string, err error) {
	if dir = w.Dir; dir == "" {
		if dir, err = config.WorkingDir(); err != nil {
			return "", err
		}
	}
	c.Role = config.AsGateway
	if err := os.Chdir(dir); err != nil {
		return "", fmt.Errorf("go to the working directory: %w", err)
	}
	return dir, nil
}

// ProvideConfig returns the configuration of the service's working directory, for kong.
func (w where) ProvideConfig(c *command.Context) (config.Config, error) {
	if _, err := w.enter(c); err != nil {
		return config.Config{}, err
	}
	return c.Config()
}

// ProvideRequest describes the service, for kong.
func (p place) ProvideRequest(c *command.Context, cfg config.Config) (service.Request, error) {
	dir, err := p.enter(c)
	r := service.Request{
		Binary:   c.Self,
		Dir:      dir,
		Environ:  c.Environ,
		Claude:   string(cfg.Claude.Command),
		StateDir: cfg.StateDir(),
		Interval: time.Duration(cfg.Heartbeat.Interval),
	}
	if p.Binary != "" {
		r.Binary, r.Chosen = p.Binary, true
	}
	return r, err
}

// takeUp says which .env the job reads from now on: that of its directory, which is the present
// one and gets on record. It also says of one that was passed over.
func (w where) takeUp(c *command.Context, dir string) error {
	if here := filepath.Join(c.Dir, ".env"); w.Dir == "" && c.Dir != dir && exists(here) {
		c.Say([]string{"does not read " + here + ": no gateway was started or set up there; --dir " + c.Dir + " has it read"})
	}
	if file := filepath.Join(dir, ".env"); exists(file) {
		c.Say([]string{"reads " + file + " at each start"})
	}
	return config.Remember()
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// ServiceInstall is the command `service install`.
type ServiceInstall struct {
	place
	Print    bool   `help:"Show the files, which hold your settings, and change nothing."`
	Socket   bool   `help:"Have systemd listen on the gateway's address, so that it is open before the gateway is."`
	Agent    string `help:"What answers: claude, or echo where there is no claude." enum:"claude,echo" default:"claude"`
	Source   string `placeholder:"DIR" help:"Source tree that restarts build the gateway from."`
	TakeOver bool   `help:"Stop a gateway that was started by hand; its sessions go on."`
}

// Run runs the command.
func (s *ServiceInstall) Run(c *command.Context, cfg config.Config, r service.Request) error {
	r.Echo = s.Agent == string(config.AgentEcho)
	if s.Source != "" {
		const variable = "BARECLAW_SOURCE"
		if err := config.Check(variable, s.Source); err != nil {
			return err
		}
		r.Environ = append(slices.Clone(r.Environ), variable+"="+s.Source)
	}
	if s.Socket {
		if cfg.HTTP.Port == 0 {
			return errors.New("--socket needs a port: set BARECLAW_PORT to one that is not 0")
		}
		r.Listen = cfg.HTTP.Address()
	}
	spec, err := service.NewSpec(r)
	if s.Print {
		return errors.Join(err, s.print(c, service.Gateway, spec))
	}
	if err != nil {
		return err
	}
	if err := s.takeUp(c, r.Dir); err != nil {
		return err
	}
	m := s.manager()
	did, err := m.Install(c.Context, service.Gateway, spec)
	c.Say(did)
	if !errors.Is(err, service.ErrHeld) {
		return err
	}
	if !s.TakeOver {
		return fmt.Errorf("not started: %w\nTo have the service take its place now run `bareclaw service install --take-over`; its sessions go on", err)
	}
	did, err = service.TakeOver(c.Context, m, spec)
	c.Say(did)
	return err
}

func (p place) print(c *command.Context, job service.Job, spec service.Spec) error {
	files, err := service.Files(p.manager().System(), job, spec, service.LocalDirs())
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, err := fmt.Fprintf(c.Out, "==> %s (%#o) <==\n%s\n", f.Path, f.Mode, f.Text); err != nil {
			return err
		}
	}
	return nil
}

// ServiceUninstall is the command `service uninstall`.
type ServiceUninstall struct {
	where
}

// Run runs the command.
func (s *ServiceUninstall) Run(c *command.Context) error {
	_, err := s.enter(c)
	cfg, errConfig := c.Config()
	if err := keepDown(c.Context, cfg.StateDir(), func() error {
		did, err := s.manager().Uninstall(c.Context, service.Gateway)
		c.Say(did)
		return err
	}); err != nil {
		return err
	}
	if err != nil || errConfig != nil { // without a configuration the remaining files are unknown
		return err
	}
	if err := hostsAtWork(cfg.StateDir()); err != nil {
		c.Say([]string{err.Error()})
	}
	if job, err := s.manager().Status(c.Context, service.Heartbeat, service.Spec{}); err == nil && job.Installed {
		c.Say([]string{"the heartbeat is installed, and starts the gateway again after the next boot: `bareclaw heartbeat uninstall` ends that"})
	}
	_, err = fmt.Fprintf(c.Out, "What the gateway keeps stays: %s, %s and your .env. Remove them if you are done with it.\n", term.SafeLine(cfg.StateDir()), term.SafeLine(string(cfg.Files.SessionFile)))
	return err
}

// ServiceStatus is the command `service status`.
type ServiceStatus struct {
	place
	JSON    bool `name:"json" help:"Print JSON."`
	Verbose bool `short:"v" help:"Tell what was tried where the service manager does not answer."`
}

// Run runs the command.
func (s *ServiceStatus) Run(c *command.Context, cfg config.Config, r service.Request) error {
	spec, missing := service.NewSpec(r)
	st, err := s.manager().Status(c.Context, service.Gateway, spec)
	if err != nil {
		for _, tried := range service.Tried(err) {
			if s.Verbose {
				c.Tellf("tried: %s", command.ErrorText(tried))
			}
		}
		return err
	}
	if missing != nil && st.Problem == "" {
		st.Problem = missing.Error()
	}
	if what, command := doctor.StartsOlder(cfg, r.Binary, st); what != "" {
		st.Notes = append(st.Notes, what+" After a crash or a reboot the older one runs, unless you bring the newer one there: `"+command+"`.")
	}
	if s.JSON {
		err = c.PrintJSON(st)
	} else {
		showService(c, st)
	}
	if err == nil && (st.Problem != "" || !st.Active) {
		return command.ErrFailed
	}
	return err
}

func showService(c *command.Context, st service.Status) {
	if !st.Installed {
		c.Say([]string{"the service is not installed; `bareclaw service install` does it"})
		return
	}
	lines := []string{fmt.Sprintf("%s: %s", st.System, st.State)}
	if st.PID > 0 {
		lines[0] += fmt.Sprintf(", pid %d", st.PID)
	}
	if !st.Since.IsZero() {
		lines[0] += ", since " + st.Since.Format(time.DateTime)
	}
	if st.Restarts > 0 {
		lines = append(lines, fmt.Sprintf("restarts after failures: %d", st.Restarts))
	}
	if st.LastExit != "" {
		lines = append(lines, "last exit: "+st.LastExit)
	}
	if st.Problem != "" {
		lines = append(lines, "problem: "+st.Problem)
	}
	c.Say(append(lines, st.Notes...))
}

// ServiceStart starts the installed service.
type ServiceStart struct{ where }

// Run runs the command.
func (s *ServiceStart) Run(c *command.Context, managed Management, cfg config.Config) error {
	if managed.status.Active {
		c.Sayf("The service runs already, pid %d.", managed.status.PID)
		return nil
	}
	return startService(c, cfg, managed, "Started", managed.Start)
}

// ServiceStop stops the installed service.
type ServiceStop struct {
	where
	stopFlags
}

// Help is shown below the summary.
func (*ServiceStop) Help() string { return (*Stop)(nil).Help() }

// Run runs the command.
func (s *ServiceStop) Run(c *command.Context, managed Management, cfg config.Config) error {
	return (&stopping{c, cfg.StateDir(), managed, s.manager(), s.stopFlags}).run()
}

// ServiceRestart ends the installed service and starts it.
type ServiceRestart struct{ where }

// Help is shown below the summary.
func (*ServiceRestart) Help() string {
	return "Sessions and their turns go on. Requests are refused meanwhile, unless systemd has the gateway's socket: `bareclaw restart` has no such gap."
}

// Run runs the command.
func (s *ServiceRestart) Run(c *command.Context, managed Management, cfg config.Config) error {
	return startService(c, cfg, managed, "Restarted", managed.Restart)
}

// ProvideInstalled returns the installed service, for kong.
func (w where) ProvideInstalled(c *command.Context) (Management, error) {
	if command.InSession() {
		return Management{}, errStopInside
	}
	cfg, err := w.ProvideConfig(c)
	if err != nil {
		return Management{}, err
	}
	manager := w.manager()
	if err := manager.Available(c.Context); err != nil {
		return Management{}, err
	}
	managed, err := ManagedBy(c.Context, manager, cfg.StateDir())
	if err == nil && managed.Manager == nil {
		err = fmt.Errorf("there is no service of the gateway whose state is in %s; `bareclaw service install` installs it", cfg.StateDir())
	}
	return managed, err
}

// startService starts a service unless another gateway is in the way, and reports the new
// process.
func startService(c *command.Context, cfg config.Config, managed Management, done string, start func(context.Context, service.Job) error) error {
	if h, alive, _ := statemark.Gateway(cfg.StateDir()); alive && !managed.active() {
		return fmt.Errorf("%w: pid %d, at %s; `bareclaw stop` ends it, and `bareclaw service install --take-over` has the service take its place",
			service.ErrHeld, h.PID, h.Address)
	}
	wheel := command.StartSpinner(c.Err, "waits until the gateway serves")
	defer wheel.End()
	if err := start(c.Context, service.Gateway); err != nil {
		return err
	}
	st, err := managed.Status(c.Context, service.Gateway, service.Spec{})
	wheel.End()
	if err != nil {
		return err
	}
	if st.PID == 0 {
		return errors.New("the service was started and does not run; `bareclaw logs` says why")
	}
	c.Sayf("%s the service, pid %d.", done, st.PID)
	return nil
}
