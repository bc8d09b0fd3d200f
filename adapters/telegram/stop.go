package telegram

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bareclaw/core"
)

const (
	// stopShown is how long a stop may take before it is said that it is under way.
	stopShown = 500 * time.Millisecond
	// stopPatience bounds it: the core promises two seconds.
	stopPatience = 20 * time.Second
)

// cmdStop ends the turn that ran when the command arrived, and no later one.
func (a *Adapter) cmdStop(ctx context.Context, c call) Note {
	key := c.place.key()
	st, err := a.o.Core.Present(ctx, key)
	switch {
	case err != nil:
		return a.failed(ctx, "look at the chat", err)
	case st.Turn == "":
		return Note{Text: "Nothing is running." + waitingToo(st)}
	case st.Since.After(c.arrived.receivedAt):
		return Note{Text: "What was running when you wrote /stop has ended. Something newer runs now; send /stop again to end it."}
	}
	ended := make(chan Note, 1)
	a.start(func(ctx context.Context) { ended <- a.interrupt(ctx, key, st) }) // ends within stopPatience
	slow := time.NewTimer(stopShown)
	defer slow.Stop()
	select {
	case n := <-ended:
		return n
	case <-slow.C:
	}
	note := commandNote(c.key)
	a.say(ctx, note, key, Note{Text: "Stopping…", ReplyTo: c.message.ID})
	if n := <-ended; ctx.Err() == nil {
		a.change(ctx, "edit:"+note, key, edit{Of: note, Note: n})
	}
	return Note{}
}

// interrupt ends a turn and says how that went.
func (a *Adapter) interrupt(ctx context.Context, key core.ChannelKey, st core.ChannelStatus) Note {
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	hit, err := a.o.Core.Interrupt(ctx, key, st.Turn)
	switch {
	case errors.Is(err, core.ErrNothingRuns), errors.Is(err, core.ErrNotFound):
		return Note{Text: "It had just ended by itself." + waitingToo(st)}
	case errors.Is(err, core.ErrUnwritten):
		return Note{Text: "Stopped. " + unwrittenText}
	case err != nil:
		return a.failed(ctx, "end the turn", err)
	}
	return Note{Text: fmt.Sprintf("Stopped within %s. The conversation is kept.%s", seconds(hit.Took), waitingToo(st))}
}

// unwrittenText follows where a turn has ended and the ledger does not take its outcome.
const unwrittenText = "Its outcome cannot be written down at present (is the gateway's disk full?); it is told then."

// waitingToo says what else there is, which a stop does not touch.
func waitingToo(st core.ChannelStatus) string {
	switch {
	case st.Waiting == 0:
		return ""
	case st.Why != "":
		return " " + count(st.Waiting, "message waits: ", "messages wait: ") + literal(st.Why)
	}
	return " " + count(st.Waiting, "message waits and is next", "messages wait and are next") + "; see /queue."
}

// seconds shows a duration as people read it: one of no time as the least that is told.
func seconds(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", max(d.Seconds(), 0.1))
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}
