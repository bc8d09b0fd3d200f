package cli

import (
	"errors"
	"fmt"
	"os"

	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/cli/doctor"
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
	o := doctor.Options{
		Report: config.Examine(), Version: c.Version, Self: c.Self,
		Turn: d.Turn, Offline: d.Offline, Fix: d.Fix,
	}
	o.Environ = os.Environ() // including the variables of .env files
	o.Services = service.Local()
	o.Spec, o.Unfit = serviceHere(c, o.Report.Config)
	wheel := command.StartSpinner(c.Err, "Looking")
	o.Progress = wheel.Show
	findings := doctor.Run(c.Context, o)
	wheel.End()
	if err := c.Context.Err(); err != nil {
		return err
	}
	if err := d.print(c, findings); err != nil {
		return fmt.Errorf("print what was found: %w", err)
	}
	if !doctor.Healthy(findings) {
		return command.ErrFailed
	}
	return nil
}

// serviceHere describes a service installed now, or returns why no service may be installed.
func serviceHere(c *command.Context, cfg config.Config) (service.Spec, error) {
	dir, err := service.WorkingDir()
	if err != nil {
		return service.Spec{}, err
	}
	spec, err := service.NewSpec(service.Request{
		Binary: c.Self, Dir: dir, Environ: c.Environ, Claude: cfg.Claude, StateDir: cfg.StateDir, Interval: cfg.HeartbeatInterval,
		Echo: cfg.Agent == config.AgentEcho,
	})
	if here, _ := os.Getwd(); here != dir { // the service would read other settings
		err = errors.Join(err, errors.New("this is not the directory where the gateway's .env is"))
	}
	return spec, err
}

func (d *Doctor) print(c *command.Context, findings []doctor.Finding) error {
	if !d.JSON {
		return doctor.Print(c.Out, findings, doctor.StyleFor(c.Out))
	}
	return c.PrintJSON(struct {
		Healthy  bool             `json:"healthy"`
		Version  string           `json:"version"`
		Findings []doctor.Finding `json:"findings"`
	}{doctor.Healthy(findings), c.Version, findings})
}
