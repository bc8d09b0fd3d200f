package commands

import (
	"context"
	"errors"
	"fmt"
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
	switch err := v.sessions.Reset(ctx, c.Channel); {
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
	turn := core.TurnID(c.Arg)
	switch {
	case err != nil:
		return Note{}, Failed("read the state of the chat", err)
	case st.Turn == "":
		return Note{Text: "Nothing is running." + WaitingToo(st)}, nil
	case turn == "":
		turn = st.Turn
	}
	limited, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	hit, err := v.sessions.Interrupt(limited, c.Channel, turn)
	switch {
	case errors.Is(err, core.ErrNothingRuns), errors.Is(err, core.ErrNotFound):
		return Note{Text: EndedByItself + WaitingToo(st)}, nil
	case errors.Is(err, core.ErrUnwritten):
		return Note{Text: StoppedUnwritten}, nil
	case err != nil: // the next process must not choose again: by then another turn may run
		return Note{}, &Failure{Doing: "stop the turn", Err: err, Again: "/stop " + string(turn)}
	}
	return Note{Text: Stopped(hit.Took) + WaitingToo(st)}, nil
}

// Stopped says that a turn was stopped within a duration.
func Stopped(took time.Duration) string {
	return fmt.Sprintf("Stopped within %s. The conversation is kept.", mdtext.Duration(took))
}

// WaitingToo describes the messages left in the queue by a stop.
func WaitingToo(st core.ChannelStatus) string {
	switch {
	case st.Waiting == 0:
		return ""
	case st.Why != "":
		return " " + mdtext.Count(st.Waiting, "message is waiting: ", "messages are waiting: ") + mdtext.Literal(st.Why)
	}
	return " " + mdtext.Count(st.Waiting, "message is waiting and comes next", "messages are waiting and come next") + "; see /queue."
}
