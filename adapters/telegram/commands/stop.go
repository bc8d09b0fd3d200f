package commands

import (
	"context"
	"errors"
	"slices"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/live"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/core/commands"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/wait"

	"github.com/go-telegram/bot/models"
)

const (
	// stopShown is the time after which the chat shows that a stop is under way.
	stopShown = 500 * time.Millisecond
	// stopPatience bounds a stop: the core promises two seconds.
	stopPatience = 20 * time.Second
	// tapPatience is how long an answer to a tap waits for the stop.
	tapPatience = 700 * time.Millisecond

	stoppedText = "Stopped. The conversation is kept."
	stopTooLate = "This turn has already ended."
)

// A stopRecord is the turn to be stopped by a command. The record is written before the
// stop: the outcome of the turn reports the result of the stop, and a command handled
// again after a crash finds its turn.
type stopRecord struct {
	Turn    core.TurnID `json:"turn"`
	Asked   time.Time   `json:"asked"`
	Shown   bool        `json:"shown,omitempty"`   // the outcome is delivered to the chat
	Waiting string      `json:"waiting,omitempty"` // text about the messages left in the queue
}

type stops struct{ *Options }

// stop stops the turn that ran when the command arrived, and no later turn. If the
// outcome of the turn is delivered to this chat, the outcome is the answer.
func (s *stops) stop(ctx context.Context, c Call) (commands.Note, error) {
	key := c.Address.Key()
	st, err := s.Channels.Present(ctx, key)
	if err != nil {
		return commands.Note{}, commands.Failed("read the state of the chat", err)
	}
	var stop stopRecord
	again, err := s.Records.Get(ctx, records.RecordStop+c.Key, &stop)
	if err != nil {
		return commands.Note{}, commands.Failed("read what to stop", err)
	}
	switch {
	case again && st.Turn != stop.Turn:
		s.removeProgress(ctx, c)
		if stop.Shown {
			return commands.Note{}, nil
		}
		return commands.Note{Text: stoppedText + stop.Waiting}, nil
	case st.Turn == "":
		return commands.Note{Text: "Nothing is running." + commands.WaitingToo(st)}, nil
	case !again && st.Since.After(c.ReceivedAt):
		return commands.Note{Text: "What was running when you wrote /stop has ended. Something newer is running now; send /stop again to stop it."}, nil
	case !again:
		if stop, err = s.recordStop(ctx, c, st); err != nil {
			return commands.Note{}, commands.Failed("record what to stop", err)
		}
	}
	slow := s.Work.Start(func(pause context.Context) {
		if wait.Sleep(pause, stopShown) == nil { // with ctx, not pause: Cancel must not cut the recording short
			s.Out.Say(ctx, progressID(c), c.Address.Key(), view.Note{Text: "Stopping…", ReplyTo: c.Message.ID})
		}
	})
	defer slow.Cancel(ctx) // also after a panic
	n, err := s.interrupt(ctx, c.Address.Key(), stop)
	slow.Cancel(ctx)
	if ctx.Err() == nil { // else the next process handles the command again
		s.removeProgress(ctx, c)
	}
	return n, err
}

func (s *stops) recordStop(ctx context.Context, c Call, st core.ChannelStatus) (stopRecord, error) {
	open, err := s.Messages.OpenMessages(ctx, chats.Name)
	if err != nil {
		return stopRecord{}, err
	}
	stop := stopRecord{Turn: st.Turn, Asked: time.Now(), Waiting: commands.WaitingToo(st)}
	stop.Shown = slices.ContainsFunc(open, func(m core.Message) bool { return m.Channel == st.Key && m.Turn == st.Turn && m.Deliver })
	return stop, s.Records.Write(ctx, records.Entry{Key: records.RecordStop + c.Key, Value: stop}, records.Entry{Key: records.RecordStopped + string(stop.Turn), Value: stop})
}

func progressID(c Call) string { return "stopping:" + c.Key }

func (s *stops) removeProgress(ctx context.Context, c Call) {
	if s.Out.Recorded(ctx, progressID(c)) {
		s.Out.Edit(ctx, "edit:"+progressID(c), c.Address.Key(), outbox.Edit{Of: progressID(c), Remove: true})
	}
}

// interrupt stops a turn, and returns the result unless the outcome contains the result.
func (s *stops) interrupt(ctx context.Context, key core.ChannelKey, stop stopRecord) (commands.Note, error) {
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	hit, err := s.Lanes.Interrupt(ctx, key, stop.Turn)
	switch {
	case stop.Shown && err == nil:
		return commands.Note{}, nil
	case errors.Is(err, core.ErrNothingRuns), errors.Is(err, core.ErrNotFound):
		return commands.Note{Text: commands.EndedByItself + stop.Waiting}, nil
	case errors.Is(err, core.ErrUnwritten):
		return commands.Note{Text: commands.StoppedUnwritten}, nil
	case err != nil:
		return commands.Note{}, commands.Failed("stop the turn", err)
	}
	return commands.Note{Text: commands.Stopped(hit.Took) + stop.Waiting}, nil
}

// StoppedText returns the text of an outcome whose turn was stopped by a command; empty
// for other outcomes.
func (s *stops) StoppedText(ctx context.Context, m *core.Message) (string, error) {
	if m.Reply.State != core.Cancelled || m.Reply.Code != core.CodeInterrupted || m.Turn == "" {
		return "", nil
	}
	var stop stopRecord
	if ok, err := s.Records.Get(ctx, records.RecordStopped+string(m.Turn), &stop); !ok || err != nil {
		return "", err
	}
	text := commands.Stopped(m.EndedAt.Sub(stop.Asked))
	if m.Reply.Done != "" {
		text += " Done before that: " + mdtext.Literal(m.Reply.Done) + "."
	}
	return text + stop.Waiting, nil
}

func (s *stops) tapStop(ctx context.Context, t chats.Tap) string {
	answer := s.stopTurn(ctx, t.Address.Key(), core.TurnID(t.Arg))
	if answer == stopTooLate {
		s.Live.DeleteStray(ctx, t.Address, t.Message)
	}
	return answer
}

func (s *stops) stopTurn(ctx context.Context, key core.ChannelKey, turn core.TurnID) string {
	ctx, cancel := context.WithTimeout(ctx, tapPatience)
	defer cancel()
	_, err := s.Lanes.Interrupt(ctx, key, turn)
	switch {
	case err == nil:
		return "Stopped."
	case errors.Is(err, core.ErrNothingRuns), errors.Is(err, core.ErrNotFound):
		return stopTooLate
	case errors.Is(err, core.ErrUnwritten):
		return commands.StoppedUnwritten
	case ctx.Err() != nil:
		return "Stopping…"
	}
	return "Not stopped: " + err.Error()
}

// DraftStopped stops the turn whose draft a user has stopped.
func (s *stops) DraftStopped(ctx context.Context, m *models.MessageGenerationStopped) {
	key := chats.Address{Chat: m.Chat.ID, Thread: m.MessageThreadID}.Key()
	if turn := s.Live.Running(key); turn != "" && live.DraftOf(turn) == m.DraftID {
		s.stopTurn(ctx, key, turn)
	}
}
