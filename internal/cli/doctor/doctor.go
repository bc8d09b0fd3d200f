// Package doctor finds problems of a gateway and its surroundings, and explains each
// problem and its solution. The doctor may run at any time: the checks create no
// directory, take no lock needed by a daemon, and leave nothing behind. Only
// [Options.Fix] causes changes.
//
// Each check has a file. A check never fails: every error becomes a finding, and the
// other checks continue.
package doctor

import (
	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/term"
	"context"
	"fmt"
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

// Healthy reports whether no problem is left.
func Healthy(findings []Finding) bool {
	for i := range findings {
		if findings[i].Level == Problem && !findings[i].Fixed {
			return false
		}
	}
	return true
}

// A mender solves the problem of a finding.
type mender func(ctx context.Context) error

// ok returns the finding of a good state.
func ok(format string, args ...any) Finding {
	return Finding{Level: OK, What: fmt.Sprintf(format, args...)}
}

func note(code, what, why, command string) Finding {
	return Finding{Level: Note, Code: code, What: what, Why: why, Command: command}
}

func warning(code, what, why, command string) Finding {
	return Finding{Level: Warning, Code: code, What: what, Why: why, Command: command}
}

func problem(code, what, why, command string) Finding {
	return Finding{Level: Problem, Code: code, What: what, Why: why, Command: command}
}

// by makes the finding fixable by mend.
func (f Finding) by(mend mender) Finding {
	f.Fixable, f.mend = true, mend
	return f
}

// fix runs the mender and records the result.
func (f *Finding) fix(ctx context.Context) {
	if err := f.mend(ctx); err != nil {
		f.Failed = term.SafeLine(err.Error())
		return
	}
	f.Fixed = true
}

// clean makes texts from outside safe for a terminal and sets the check's name.
func (f *Finding) clean(check string) {
	f.Check = check
	f.What, f.Why, f.Command = term.SafeLine(f.What), term.SafeLine(f.Why), term.SafeLine(f.Command)
}
