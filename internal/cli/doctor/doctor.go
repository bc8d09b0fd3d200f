// Package doctor finds problems of a gateway and its surroundings, and explains each
// problem and its solution. The doctor may run at any time: it makes no directory, takes
// no lock that a daemon needs, and leaves nothing behind. Only [Options.Fix] changes
// anything.
//
// Each check has a file. A check never fails: every error becomes a finding, and the other
// checks go on.
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
	Version  string   // of this program
	Self     string   // path of this program's file
	Environ  []string // of this process, with what .env files have added
	Turn     bool     // have claude answer once: it costs a call of the model
	Answered bool     // claude has answered just now, so it has a login
	Offline  bool     // ask nothing of the network; then there is no turn either
	Fix      bool     // mend what can be mended safely

	// Services is the service manager of this user, nil if there is none that is known.
	// Spec is what its files should be made of; with Unfit, which says why, it is not
	// to be installed.
	Services interface {
		service.Inspector
		service.Installer
	}
	Spec  service.Spec
	Unfit error

	// Progress, if not nil, is called with the names of the checks that are not done,
	// whenever one is. Calls do not overlap.
	Progress func(waiting []string)
}

// A Level says how bad a finding is.
type Level string

// The levels: as it should be, worth knowing, worth changing, and in the way of the
// gateway's work.
const (
	OK      Level = "ok"
	Note    Level = "note"
	Warning Level = "warning"
	Problem Level = "problem"
)

// A Finding is the result of a check for one thing.
type Finding struct {
	Check   string `json:"check"`
	Level   Level  `json:"level"`
	Code    string `json:"code,omitempty"` // a stable word; none for what is as it should be
	What    string `json:"what"`           // a sentence
	Why     string `json:"why,omitempty"`  // it matters
	Command string `json:"command,omitempty"`
	Fixable bool   `json:"fixable"`          // Options.Fix mends it
	Fixed   bool   `json:"fixed"`            // it is mended
	Failed  string `json:"failed,omitempty"` // why it could not be

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

// by adds how the finding is mended.
func (f Finding) by(mend mender) Finding {
	f.Fixable, f.mend = true, mend
	return f
}

// fix solves the problem of the finding.
func (f *Finding) fix(ctx context.Context) {
	if err := f.mend(ctx); err != nil {
		f.Failed = term.SafeLine(err.Error())
		return
	}
	f.Fixed = true
}

// clean makes texts from outside safe for a terminal.
func (f *Finding) clean(check string) {
	f.Check = check
	f.What, f.Why, f.Command = term.SafeLine(f.What), term.SafeLine(f.Why), term.SafeLine(f.Command)
}
