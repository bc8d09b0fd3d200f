package setup

import (
	"context"
	"fmt"
	"os"
	"slices"

	"bareclaw/core/config"
	"bareclaw/internal/cli/doctor"
)

// doctorStep is the step that runs the doctor.
type doctorStep struct{ *wizard }

// run runs the doctor, but for another turn of claude.
func (w doctorStep) run(ctx context.Context) (Outcome, error) {
	if w.NoDoctor {
		return skipped("as asked (--no-doctor)"), nil
	}
	o := doctor.Options{Report: config.Examine(), Version: w.Version, Self: w.Self}
	o.Environ = os.Environ() // including the variables of .env files
	o.Answered = w.answered
	o.Services, o.Spec = w.Service, w.spec
	if o.Spec.Binary == "" { // no service was looked at
		o.Spec, o.Unfit = w.makeSpec(o.Report.Config)
	}
	findings := doctor.Run(ctx, o)
	if ctx.Err() != nil {
		return Outcome{}, ctx.Err()
	}
	style := doctor.StyleFor(w.Out)
	style.Short = true
	if err := doctor.Print(w.Out, findings, style); err != nil {
		return Outcome{}, fmt.Errorf("print what was found: %w", err)
	}
	switch {
	case !doctor.Healthy(findings):
		return Outcome{}, &trouble{"something needs your attention: see above", "bareclaw doctor"}
	case slices.ContainsFunc(findings, func(f doctor.Finding) bool { return f.Level == doctor.Warning }):
		return unchanged("it works; what is marked above deserves a look"), nil
	}
	return unchanged("it works, and nothing is in the way"), nil
}
