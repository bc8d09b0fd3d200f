package setup

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

// answerLimit is how long the first answer may take.
const answerLimit = 2 * time.Minute

// sendFirstMessage sends a message to the gateway and a greeting to Telegram.
func sendFirstMessage(ctx context.Context, w *wizard) (Outcome, error) {
	switch {
	case !w.running:
		return skipped("the gateway does not run"), nil
	case w.NoTurn:
		return skipped("as asked (--no-turn)"), nil
	}
	cfg, err := w.load()
	if err != nil {
		return Outcome{}, err
	}
	gateway := client.Local(cfg)
	if w.newOwner != 0 {
		to := api.SendRequest{Channel: "tg-" + strconv.FormatInt(w.newOwner, 10), Text: "I'm here. Say something."}
		if err := gateway.Do(ctx, "POST", api.PathSend, to, nil); err != nil && ctx.Err() == nil {
			w.note("Nothing could be sent to Telegram: %s", term.SafeLine(err.Error()))
		}
	}
	const text = "Hello! Say in one short sentence that you are there."
	w.note("> %s", text)
	var answer api.Message
	limited, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	begun := time.Now()
	if err := gateway.Do(limited, "POST", api.PathMessage, api.MessageRequest{Channel: "init", Text: text}, &answer); err != nil {
		return Outcome{}, trouble("no answer came: "+term.SafeLine(err.Error()), "see `bareclaw status`: the message may still be answered")
	}
	took := humanize.Duration(time.Since(begun))
	if answer.IsError {
		return Outcome{}, trouble("the message failed: "+term.SafeLine(answer.Text), "mend that, then: bareclaw send init hello")
	}
	w.answered = w.answered || len(answer.Notices) == 0 // the echo agent's answers have notices
	w.firstCost = answer.CostUSD
	w.note("< %s", term.SafeLine(humanize.Shorten(answer.Text, 500)))
	return done(fmt.Sprintf("answered in %s", took)), nil
}

func runDoctor(ctx context.Context, w *wizard) (Outcome, error) {
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
		return Outcome{}, trouble("something needs your attention: see above", "bareclaw doctor")
	case slices.ContainsFunc(findings, func(f doctor.Finding) bool { return f.Level == doctor.Warning }):
		return unchanged("it works; what is marked above deserves a look"), nil
	}
	return unchanged("it works, and nothing is in the way"), nil
}
