package setup

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

// answerLimit is how long the first answer may take.
const answerLimit = 2 * time.Minute

// messageStep is the step that sends a first message.
type messageStep struct{ *wizard }

// run sends a message to the gateway and a greeting to Telegram.
func (w messageStep) run(ctx context.Context) (Outcome, error) {
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
		return Outcome{}, &trouble{"no answer came: " + term.SafeLine(err.Error()), "see `bareclaw status`: the message may still be answered"}
	}
	took := humanize.Duration(time.Since(begun))
	if answer.IsError {
		return Outcome{}, &trouble{"the message failed: " + term.SafeLine(answer.Text), "mend that, then: bareclaw send init hello"}
	}
	w.answered = w.answered || len(answer.Notices) == 0 // the echo agent's answers have notices
	w.firstCost = answer.CostUSD
	w.note("< %s", term.SafeLine(humanize.Shorten(answer.Text, 500)))
	return done(fmt.Sprintf("answered in %s", took)), nil
}
