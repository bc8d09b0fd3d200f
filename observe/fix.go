package observe

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"bareclaw/internal/wait"
	"bareclaw/observe/findings"
	"bareclaw/observe/tools"
)

// outcomeInterval is the time between two questions whether the agent is done.
const outcomeInterval = 5 * time.Second

// Rounds are the runs of an agent that fixes findings, one at a time. The methods are those of findings.Rounds.
type Rounds interface {
	NextRound() (findings.Round, bool)
	RoundAccepted(key, message string)
	EndRound(key string)
}

// A Fixer asks the agent of a channel to fix what people were told of, which costs money.
type Fixer struct {
	Rounds  Rounds
	Changed <-chan struct{} // has a value when there may be a round
	Gateway Gateway
	Channel string
	App     string // the id of the observer, for the agent's tools
	Log     *slog.Logger
}

// Run asks the agent until ctx ends. A round that is under way then goes on with the next Run.
func (f *Fixer) Run(ctx context.Context) {
	for ctx.Err() == nil {
		round, ok := f.Rounds.NextRound()
		if ok {
			f.fix(ctx, round)
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-f.Changed:
		}
	}
}

// fix asks the agent once, and waits until it is done. If ctx ends before, the round stays under way.
func (f *Fixer) fix(ctx context.Context, round findings.Round) {
	message := round.Message
	if message == "" {
		var err error
		message, err = f.ask(ctx, round)
		if refused := (*RefusedError)(nil); errors.As(err, &refused) {
			f.Log.Error("the agent is not asked to fix what was found", "channel", f.Channel, "err", err)
			f.Rounds.EndRound(round.Key)
			return
		}
		if err != nil {
			return
		}
		f.Rounds.RoundAccepted(round.Key, message)
	}
	if f.await(ctx, message) == nil {
		f.Rounds.EndRound(round.Key)
	}
}

// ask sends the agent the message of a round, until the gateway takes it or refuses it for ever.
func (f *Fixer) ask(ctx context.Context, round findings.Round) (message string, err error) {
	text := tools.FixFindings(f.App, round.Findings...)
	backoff := wait.Backoff{First: firstRetry, Most: lastRetry}
	for {
		message, err = f.Gateway.Ask(ctx, round.Key, f.Channel, text)
		if err == nil || errors.As(err, new(*RefusedError)) {
			return message, err
		}
		if backoff.Failures() == 0 && ctx.Err() == nil {
			f.Log.Warn("the agent cannot be asked now to fix what was found, and is asked again", "err", err)
		}
		if err := backoff.Sleep(ctx); err != nil {
			return "", err
		}
	}
}

// await blocks until the agent is done with a message.
func (f *Fixer) await(ctx context.Context, message string) error {
	backoff := wait.Backoff{First: outcomeInterval, Most: lastRetry}
	for {
		ended, err := f.Gateway.HasEnded(ctx, message)
		switch {
		case ended:
			return nil
		case err == nil:
			backoff.Reset()
		}
		if err := backoff.Sleep(ctx); err != nil {
			return err
		}
	}
}
