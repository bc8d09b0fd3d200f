package toolhost

import (
	"fmt"
	"time"

	"bareclaw/toolhost/api"
)

// A Status says how the tool host does. As JSON it is the result of worker_status.
type Status struct {
	PID          int         `json:"pid"`
	Status       string      `json:"status"` // running, starting or failed
	StartedAt    *Moment     `json:"startedAt"`
	RestartCount int         `json:"restartCount"` // crashes since the last rollback
	Healthy      bool        `json:"healthy"`
	Problem      string      `json:"problem,omitempty"` // why no tool host runs
	ToolsDir     string      `json:"toolsDir,omitempty"`
	Health       *api.Health `json:"health"` // the last answer; nil: none came

	Crashes    int64  `json:"-"` // since the start of the daemon
	RolledBack string `json:"-"` // what became of the last rollback after crashes; empty if people know
}

// A Moment is a time that is shown as JavaScript shows it: in UTC, always with milliseconds.
type Moment struct{ time.Time }

// String returns such as 2026-01-23T14:00:00.000Z.
func (m Moment) String() string { return m.UTC().Format("2006-01-02T15:04:05.000Z") }

// MarshalJSON implements json.Marshaler: that of time.Time leaves zeros out.
func (m Moment) MarshalJSON() ([]byte, error) { return []byte(`"` + m.String() + `"`), nil }

// The values of Status.Status.
const (
	isRunning  = "running"
	isStarting = "starting"
	hasFailed  = "failed"
)

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
		problems = append(problems, cannotLoad(s.Health))
	}
	if s.RolledBack != "" {
		problems = append(problems, s.RolledBack)
	}
	return problems
}

// cannotLoad returns the sentence about the files of a tool host that are not loaded.
func cannotLoad(h *api.Health) string {
	if len(h.Problems) > 1 {
		return fmt.Sprintf("%d files of tools cannot be loaded: %s", len(h.Problems), *h.LastError)
	}
	return "A tool cannot be loaded: " + *h.LastError
}

// whyMissing returns why a file defines no tool, as a sentence; empty if no reason is known.
func (s *Status) whyMissing(file string) string {
	switch {
	case s.Problem != "":
		return s.Problem
	case s.Health == nil:
		return ""
	case s.Health.Loading:
		return "The tool host is still loading files; call it again in a moment."
	}
	for _, p := range s.Health.Problems {
		if p.File == file && p.Serves == "" {
			return "Its file is not loaded: " + p.Text + "."
		}
	}
	return ""
}
