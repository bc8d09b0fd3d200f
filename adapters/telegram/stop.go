package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"bareclaw/adapters/telegram/records"
	"bareclaw/core"
)

const (
	// stopShown is how long a stop may take before it is said that it is under way.
	stopShown = 500 * time.Millisecond
	// stopPatience bounds it: the core promises two seconds.
	stopPatience = 20 * time.Second
)

// A stopRecord is what a command is about to stop. It is on record before that is
// done: the outcome of the turn says how it went, and a command that is handled
// again, after a crash, knows what it was about.
type stopRecord struct {
	Turn    core.TurnID `json:"turn"`
	Asked   time.Time   `json:"asked"`
	Shown   bool        `json:"shown,omitempty"`   // the outcome comes to the chat
	Waiting string      `json:"waiting,omitempty"` // what the stop leaves waiting, in words
}

// cmdStop ends the turn that ran when the command arrived, and no later one. Where the
// outcome of the turn comes to this chat that is the answer.
func (a *Adapter) cmdStop(ctx context.Context, c call) Note {
	key := c.place.Key()
	st, err := a.o.Core.Present(ctx, key)
	if err != nil {
		return a.failed(ctx, "look at the chat", err)
	}
	var stop stopRecord
	again, err := a.records.Get(ctx, records.Stop+c.key, &stop)
	if err != nil {
		return a.failed(ctx, "read what was to be stopped", err)
	}
	switch {
	case again && st.Turn != stop.Turn:
		a.removeStopping(ctx, c)
		if stop.Shown {
			return Note{}
		}
		return Note{Text: "Stopped. The conversation is kept." + stop.Waiting}
	case st.Turn == "":
		return Note{Text: "Nothing is running." + waitingToo(st)}
	case !again && st.Since.After(c.arrived.receivedAt):
		return Note{Text: "What was running when you wrote /stop has ended. Something newer runs now; send /stop again to end it."}
	case !again:
		if stop, err = a.recordStop(ctx, c, st); err != nil {
			return a.failed(ctx, "record what is to be stopped", err)
		}
	}
	ended := make(chan Note, 1)
	a.work.Go(func(ctx context.Context) { ended <- a.interrupt(ctx, key, stop) }) // ends within stopPatience
	slow := time.NewTimer(stopShown)
	defer slow.Stop()
	var n Note
	select {
	case n = <-ended:
	case <-slow.C:
		a.say(ctx, stoppingNote(c), key, Note{Text: "Stopping…", ReplyTo: c.message.ID})
		n = <-ended
	}
	if ctx.Err() == nil { // else the next process handles the command again
		a.removeStopping(ctx, c)
	}
	return n
}

// records.Stop records what a command is about to stop.
func (a *Adapter) recordStop(ctx context.Context, c call, st core.ChannelStatus) (stopRecord, error) {
	open, err := a.o.Core.OpenMessages(ctx, Name)
	if err != nil {
		return stopRecord{}, err
	}
	stop := stopRecord{Turn: st.Turn, Asked: time.Now(), Waiting: waitingToo(st)}
	stop.Shown = slices.ContainsFunc(open, func(m core.Message) bool { return m.Channel == st.Key && m.Turn == st.Turn && m.Deliver })
	doc, err := json.Marshal(stop)
	if err != nil {
		return stopRecord{}, err
	}
	return stop, a.records.Write(ctx, &core.Record{Owner: Name, Key: records.Stop + c.key, Doc: doc},
		&core.Record{Owner: Name, Key: records.Stopped + string(stop.Turn), Doc: doc})
}

// stoppingNote is the id of the note that a stop is under way.
func stoppingNote(c call) string { return "stopping:" + c.key }

// removeStopping takes the note away that a stop is under way, if it was said.
func (a *Adapter) removeStopping(ctx context.Context, c call) {
	if a.said(ctx, stoppingNote(c)) {
		a.change(ctx, "edit:"+stoppingNote(c), c.place.Key(), edit{Of: stoppingNote(c), Remove: true})
	}
}

// interrupt ends a turn and says how that went, unless its outcome does.
func (a *Adapter) interrupt(ctx context.Context, key core.ChannelKey, stop stopRecord) Note {
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	hit, err := a.o.Core.Interrupt(ctx, key, stop.Turn)
	switch {
	case stop.Shown && err == nil:
		return Note{}
	case errors.Is(err, core.ErrNothingRuns), errors.Is(err, core.ErrNotFound):
		return Note{Text: "It had just ended by itself." + stop.Waiting}
	case errors.Is(err, core.ErrUnwritten):
		return Note{Text: "Stopped. " + unwrittenText}
	case err != nil:
		return a.failed(ctx, "end the turn", err)
	}
	return Note{Text: fmt.Sprintf("Stopped within %s. The conversation is kept.%s", seconds(hit.Took), stop.Waiting)}
}

// stoppedText is what the outcome of a message says whose turn a command has stopped;
// empty if none has.
func (a *Adapter) stoppedText(ctx context.Context, m *core.Message) (string, error) {
	if m.Reply.State != core.Cancelled || m.Reply.Code != core.CodeInterrupted || m.Turn == "" {
		return "", nil
	}
	var stop stopRecord
	if ok, err := a.records.Get(ctx, records.Stopped+string(m.Turn), &stop); !ok || err != nil {
		return "", err
	}
	text := fmt.Sprintf("Stopped within %s. The conversation is kept.", seconds(m.EndedAt.Sub(stop.Asked)))
	if m.Reply.Done != "" {
		text += " Done before that: " + literal(m.Reply.Done) + "."
	}
	return text + stop.Waiting, nil
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
