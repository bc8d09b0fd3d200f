package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/statemark"
)

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
	return stopGateway(c, cfg, managed, s.stopFlags)
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
	managed, err := ManagedBy(c.Context, manager, cfg.StateDir)
	if err == nil && managed.Manager == nil {
		err = fmt.Errorf("there is no service of the gateway whose state is in %s; `bareclaw service install` installs it", cfg.StateDir)
	}
	return managed, err
}

// startService starts a service unless another gateway is in the way, and reports the new
// process.
func startService(c *command.Context, cfg config.Config, managed Management, done string, start func(context.Context, service.Job) error) error {
	if h, alive, _ := statemark.Gateway(cfg.StateDir); alive && !managed.active() {
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
