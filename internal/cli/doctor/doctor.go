// Package doctor finds problems of a gateway and its surroundings, and explains each
// problem and its solution. The doctor may run at any time: the checks create no
// directory, take no lock needed by a daemon, and leave nothing behind. Only
// [Options.Fix] causes changes.
//
// A check never fails: every error becomes a finding, and the other checks continue.
package doctor

import (
	"context"
	"fmt"
	"slices"

	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
)

// Options select the checks and carry their environment.
type Options struct {
	Report   config.Report
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
	Services interface {
		service.Inspector
		service.Installer
	}
	Spec  service.Spec
	Unfit error

	// Progress, if not nil, is called with the names of the unfinished checks whenever a
	// check has ended and others have not. Calls do not overlap.
	Progress func(waiting []string)
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

	mend mender
}

// A mender solves the problem of a finding.
type mender func(ctx context.Context) error

func (f *Finding) by(mend mender) { f.Fixable, f.mend = true, mend }

// Healthy reports whether no problem is left.
func Healthy(findings []Finding) bool {
	return !slices.ContainsFunc(findings, func(f Finding) bool { return f.Level == Problem && !f.Fixed })
}

// A report is one run of a check: the facts that the checks share, and the findings so far.
type report struct {
	*look
	found []Finding
}

// ok reports a good state.
func (r *report) ok(format string, args ...any) { r.add(OK, "", fmt.Sprintf(format, args...), "", "") }

func (r *report) note(code, what, why, command string) *Finding {
	return r.add(Note, code, what, why, command)
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
