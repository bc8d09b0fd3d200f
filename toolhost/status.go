package toolhost

import (
	"context"
	"fmt"
	"time"

	"bareclaw/core/tools"
	"bareclaw/toolhost/api"
)

// A Status says how the tool host does. As JSON it is the result of worker_status.
type Status struct {
	PID          int         `json:"pid"`
	Status       string      `json:"status"` // running, starting or failed
	StartedAt    *time.Time  `json:"startedAt"`
	RestartCount int         `json:"restartCount"` // crashes since the last rollback
	Healthy      bool        `json:"healthy"`
	Problem      string      `json:"problem,omitempty"` // why no tool host runs
	Health       *api.Health `json:"health"`            // the last answer; nil: none came

	Crashes    int64  `json:"-"` // since the start of the daemon
	RolledBack string `json:"-"` // what became of the last rollback after crashes; empty if people know
}

// The values of Status.Status.
const (
	isRunning  = "running"
	isStarting = "starting"
	hasFailed  = "failed"
)

// Status says how the tool host did a second ago. Status asks no process, and so is quick.
func (k *Keeper) Status() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := Status{Status: isStarting, RestartCount: k.restarts, Problem: k.problem, Crashes: k.crashes, RolledBack: k.rolledBack}
	if s.Problem != "" {
		s.Status = hasFailed
	}
	if c := k.child; c != nil {
		started := c.startedAt.UTC().Truncate(time.Millisecond)
		s.PID, s.Status, s.StartedAt = c.pid, isRunning, &started
		s.Health, s.Healthy = c.health, c.health != nil && c.health.Status == api.Healthy
	}
	return s
}

// Problems returns a sentence for each thing that is wrong with the tool host and its tools.
func (s *Status) Problems() (problems []string) {
	switch {
	case s.Problem != "":
		problems = append(problems, s.Problem)
	case s.Status == isStarting && s.RestartCount > 1:
		problems = append(problems, fmt.Sprintf("The tool host has crashed %d times, and starts again.", s.RestartCount))
	case s.Status == isRunning && !s.Healthy:
		problems = append(problems, "The tool host does not answer; it is killed and started again if that lasts.")
	case s.Health != nil && s.Health.LastError != nil:
		problems = append(problems, "A tool cannot be loaded: "+*s.Health.LastError)
	}
	if s.RolledBack != "" {
		problems = append(problems, s.RolledBack)
	}
	return problems
}

// statusNow is Status with a new answer of the tool host.
func (k *Keeper) statusNow(ctx context.Context) Status {
	k.mu.Lock()
	c := k.child
	k.mu.Unlock()
	if c != nil {
		k.answers(ctx, c)
	}
	return k.Status()
}

// status is the tool worker_status.
func (k *Keeper) status(ctx context.Context, _ tools.Call) (tools.Result, error) {
	return tools.Object(k.statusNow(ctx))
}
