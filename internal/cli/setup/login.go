package setup

import (
	"context"
	"errors"
	"strings"
	"time"

	"bareclaw/core/config"
	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/humanize"
)

// loginStep is the step that checks claude's login.
type loginStep struct{ *wizard }

// run has claude answer once.
func (w loginStep) run(ctx context.Context) (Outcome, error) {
	switch {
	case w.claude == "":
		return skipped("there is no claude to ask"), nil
	case w.NoTurn:
		return skipped("as asked (--no-turn)"), nil
	}
	if w.terminal != nil {
		ask, err := w.terminal.agree(ctx, "Ask Claude one small question, to see that it is logged in?", "It is one call of the model, with your login. Nothing of it is kept.")
		if err != nil {
			return Outcome{}, err
		}
		if !ask {
			return skipped("not asked"), nil
		}
	}
	for {
		w.note("Asking Claude, which takes some seconds …")
		found := w.oneTurn(ctx)
		if ctx.Err() != nil {
			return Outcome{}, ctx.Err()
		}
		if found.Level == doctor.OK {
			w.answered = true
			return unchanged(found.What), nil
		}
		failed := Outcome{State: Failed, Detail: found.What, Next: found.Command}
		if w.terminal == nil {
			return failed, nil
		}
		w.note("%s %s", found.What, found.Why)
		if found.Command != "" {
			w.note(arrow+"%s", found.Command)
		}
		_, err := w.terminal.ask(ctx, question{text: "Enter asks again, s goes on without", help: "It can be mended later too: messages then wait until Claude is logged in."})
		switch {
		case errors.Is(err, errSkip):
			return failed, nil
		case err != nil:
			return Outcome{}, err
		}
	}
}

// oneTurn lets claude answer in a temporary directory, and reports progress while the
// answer takes long.
func (w loginStep) oneTurn(ctx context.Context) doctor.Finding {
	o := doctor.Options{Turn: true, Environ: w.Environ, Report: config.Report{Config: config.Config{
		Agent: config.AgentClaude, Claude: w.claude, Model: w.current("BARECLAW_MODEL"), PassEnv: strings.Split(w.current("BARECLAW_PASS_ENV"), ","),
	}}}
	result := make(chan []doctor.Finding, 1)
	begun := time.Now()
	go func() { result <- doctor.Turn(ctx, o) }() // ends within its bound
	for tick := time.Tick(10 * time.Second); ; {
		select {
		case found := <-result:
			if len(found) == 0 {
				return doctor.Finding{Level: doctor.Problem, What: "Claude could not be asked.", Command: "bareclaw doctor"}
			}
			return found[0]
		case <-tick:
			w.note("… still waiting (%s)", humanize.Duration(time.Since(begun)))
		}
	}
}
