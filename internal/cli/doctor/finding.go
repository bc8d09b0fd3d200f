package doctor

import (
	"context"
	"fmt"

	"bareclaw/internal/term"
)

// A mender mends what a finding tells of.
type mender func(ctx context.Context) error

// ok is for what is as it should be.
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

// fix mends what the finding tells of.
func (f *Finding) fix(ctx context.Context) {
	if err := f.mend(ctx); err != nil {
		f.Failed = term.SafeLine(err.Error())
		return
	}
	f.Fixed = true
}

// clean makes what comes from outside harmless.
func (f *Finding) clean(check string) {
	f.Check = check
	f.What, f.Why, f.Command = term.SafeLine(f.What), term.SafeLine(f.Why), term.SafeLine(f.Command)
}
