package heartbeat

import (
	"context"
	"fmt"
	"strings"
	"time"

	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/humanize"
)

// A Status describes the heartbeat of a state directory.
type Status struct {
	Setting   config.Heartbeat `json:"setting"` // BARECLAW_HEARTBEAT
	Interval  string           `json:"interval"`
	Notify    string           `json:"notify,omitempty"`
	System    service.System   `json:"system"` // the service manager
	Installed bool             `json:"installed"`
	Current   bool             `json:"current"` // installed files are up to date
	Active    bool             `json:"active"`
	Next      time.Time        `json:"next,omitzero"`
	Problems  []string         `json:"problems"`
	Notes     []string         `json:"notes,omitempty"`    // remarks that are not problems
	Consent   Consent          `json:"consent,omitempty"`  // the user's decision; empty if undecided
	Declined  bool             `json:"declined,omitempty"` // the user declined or uninstalled the heartbeat
	Asks      bool             `json:"asks"`               // ticks prompt the agent, besides reviving the gateway
	Other     string           `json:"other,omitempty"`    // state directory served by the installed heartbeat, if different
	Gateway   *Installation    `json:"gateway,omitempty"`  // record of the gateway's last start
	Records
}

// Look collects the status. Facts that cannot be read become problems.
func Look(ctx context.Context, cfg config.Config, manager service.Launcher, request service.Request) Status {
	s := Status{
		Setting: cfg.Heartbeat, Interval: humanize.Span(cfg.HeartbeatInterval), Notify: cfg.HeartbeatNotify,
		System: manager.System(), Declined: Declined(cfg.StateDir), Asks: Asks(cfg), Problems: []string{},
	}
	problem := func(err error) {
		if err != nil {
			s.Problems = append(s.Problems, strings.Split(err.Error(), "\n")...) // errors.Join separates errors by newlines
		}
	}
	var err error
	s.Consent, err = ReadConsent(cfg.StateDir)
	problem(err)
	spec, err := service.NewSpec(request)
	problem(err)
	job, err := manager.Status(ctx, service.Heartbeat, spec)
	problem(err)
	s.Installed, s.Current, s.Active, s.Next, s.Notes = job.Installed, job.Current, job.Active, job.Next, job.Notes
	if job.Problem != "" {
		s.Problems = append(s.Problems, job.Problem)
	}
	if s.Other = Elsewhere(job, cfg.StateDir); s.Other != "" {
		s.Problems = append(s.Problems, fmt.Sprintf("The heartbeat that is installed looks after the gateway whose state is in %s. "+
			"`bareclaw heartbeat install` has it look after this one instead.", s.Other))
	}
	in, err := Installed(cfg.StateDir)
	problem(err)
	if !in.At.IsZero() {
		s.Gateway = &in
	}
	s.Records, err = Read(cfg.StateDir)
	problem(err)
	if s.Ticks == nil {
		s.Ticks = []Tick{}
	}
	return s
}
