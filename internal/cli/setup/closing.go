package setup

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"

	"bareclaw/core/config"
	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/term"
)

// lookAtAll runs the doctor, but for another turn of claude.
func (w *wizard) lookAtAll(ctx context.Context) (Outcome, error) {
	if w.NoDoctor {
		return skipped("as asked (--no-doctor)"), nil
	}
	o := doctor.Options{Report: config.Examine(), Version: w.Version, Self: w.Self}
	o.Environ = os.Environ() // with what .env files have added
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

// close tells what was written where, and what to type next.
func (w *wizard) close(s Summary) {
	w.say("")
	if s.OK {
		w.say("All set.")
	} else {
		w.tell("Not all went well; what is marked FAILED says how to go on. Run `bareclaw init` again at any time.")
	}
	w.say("  Settings   %s", term.SafeLine(w.path))
	if dir := w.stateDir(); dir != "" {
		w.say("  State      %s", term.SafeLine(dir))
	}
	if !w.running {
		w.say("  Start      bareclaw serve")
		return
	}
	address := net.JoinHostPort(w.host(), w.port())
	if h, ok := w.holder(); ok && h.Address != "" { // of port 0 only that tells
		address = h.Address
	}
	w.say("  HTTP       http://%s", term.SafeLine(address))
	if s.Bot != "" && w.current(varUsers) != "" {
		w.say("  Telegram   https://t.me/%s", term.SafeLine(s.Bot))
	}
	w.say("  Next       bareclaw chat")
	w.say("             bareclaw status")
	w.say("             bareclaw send CHANNEL TEXT")
}
