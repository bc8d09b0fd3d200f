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

// A Status is all that is known of the heartbeat of a state directory.
type Status struct {
	Setting   config.Heartbeat `json:"setting"` // BARECLAW_HEARTBEAT
	Interval  string           `json:"interval"`
	Notify    string           `json:"notify,omitempty"`
	System    service.System   `json:"system"` // the service manager
	Installed bool             `json:"installed"`
	Current   bool             `json:"current"` // as it would be installed now
	Active    bool             `json:"active"`
	Next      time.Time        `json:"next,omitzero"`
	Problems  []string         `json:"problems"`
	Notes     []string         `json:"notes,omitempty"`    // what is worth knowing and no problem
	Consent   Consent          `json:"consent,omitempty"`  // what the user has said; empty: nobody was asked
	Declined  bool             `json:"declined,omitempty"` // the user has said no, or has uninstalled it
	Asks      bool             `json:"asks"`               // a tick asks the agent, and does not only look after the gateway
	Other     string           `json:"other,omitempty"`    // state directory of the gateway that the installed one looks after, if that is another one
	Gateway   *Installation    `json:"gateway,omitempty"`  // what it did at its last start
	Records
}

// Look gathers the status. Facts that cannot be read become problems.
func Look(ctx context.Context, cfg config.Config, manager service.Inspector, request service.Request) Status {
	s := Status{
		Setting: cfg.Heartbeat, Interval: humanize.Span(cfg.HeartbeatInterval), Notify: cfg.HeartbeatNotify,
		System: manager.System(), Declined: Declined(cfg.StateDir), Asks: Asks(cfg), Problems: []string{},
	}
	problem := func(err error) {
		if err != nil {
			s.Problems = append(s.Problems, strings.Split(err.Error(), "\n")...) // joined ones are several
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
