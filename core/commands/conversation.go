package commands

import (
	"context"
	"errors"
	"time"

	"bareclaw/core"
	"bareclaw/internal/mdtext"
)

const (
	// stopPatience bounds a stop: the core promises two seconds.
	stopPatience = 20 * time.Second

	// StoppedUnwritten answers a stop whose outcome the ledger does not take.
	StoppedUnwritten = "Stopped. The outcome cannot be recorded at present (is the gateway's disk full?); you will be told when it is."
	// EndedByItself answers a stop that came too late.
	EndedByItself = "The turn had just ended by itself."
)

// conversations end the turns and the conversations of channels.
type conversations struct {
	channels Channels
	sessions Sessions
}

// reset forgets the conversation. Each message ended by reset has a separate outcome.
func (v conversations) reset(ctx context.Context, c Call) (Note, error) {
	err := v.sessions.Reset(ctx, c.Channel)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return Note{Text: "There is nothing to forget: this chat has no conversation yet."}, nil
	case err != nil:
		return Note{}, Failed("forget the conversation", err)
	}
	return Note{Text: "Forgotten. Your next message begins a new conversation; this chat keeps its model, mode and rules."}, nil
}

// stop stops the running turn and no later turn; with an argument the turn of this id alone.
func (v conversations) stop(ctx context.Context, c Call) (Note, error) {
	st, err := v.channels.Present(ctx, c.Channel)
	if err != nil {
		return Note{}, Failed("read the state of the chat", err)
	}
	waiting := WaitingToo(st)
	if st.Turn == "" {
		return Note{Text: "Nothing is running." + waiting}, nil
	}
	turn := st.Turn
	if c.Arg != "" {
		turn = core.TurnID(c.Arg)
	}
	limited, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	hit, err := v.sessions.Interrupt(limited, c.Channel, turn)
	switch {
	case errors.Is(err, core.ErrNothingRuns), errors.Is(err, core.ErrNotFound):
		return Note{Text: EndedByItself + waiting}, nil
	case errors.Is(err, core.ErrUnwritten):
		return Note{Text: StoppedUnwritten}, nil
	case err != nil:
		return Note{}, notStopped(turn, err)
	}
	return Note{Text: Stopped(hit.Took) + waiting}, nil
}

// notStopped returns a failure that the next process completes for the same turn: by then another
// turn may run.
func notStopped(turn core.TurnID, err error) error {
	return &Failure{
		Doing: "stop the turn",
		Err:   err,
		Again: "/stop " + string(turn),
	}
}

// Stopped says that a turn was stopped within a duration.
func Stopped(took time.Duration) string {
	return "Stopped within " + mdtext.Duration(took) + ". The conversation is kept."
}

// WaitingToo describes the messages left in the queue by a stop.
func WaitingToo(st core.ChannelStatus) string {
	if st.Waiting == 0 {
		return ""
	}
	if st.Why != "" {
		waiting := mdtext.Count(st.Waiting, "message is waiting: ", "messages are waiting: ")
		return " " + waiting + mdtext.Literal(st.Why)
	}
	waiting := mdtext.Count(st.Waiting, "message is waiting and comes next", "messages are waiting and come next")
	return " " + waiting + "; see /queue."
}
