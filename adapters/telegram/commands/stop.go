package commands

import (
	"context"
	"errors"
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
		return stop.stopped(), nil
	case st.Turn == "":
		return says("Nothing is running." + commands.WaitingToo(st))
	case !again && st.Since.After(c.ReceivedAt):
		return says("What was running when you wrote /stop has ended. Something newer is running now; send /stop again to stop it.")
	case !again:
		stop, err = s.recordStop(ctx, c, st)
		if err != nil {
			return commands.Note{}, commands.Failed("record what to stop", err)
		}
	}
	return s.interruptWithProgress(ctx, c, stop)
}

// stopped answers a command that is handled again when its turn has ended.
func (s *stopRecord) stopped() commands.Note {
	if s.Shown {
		return commands.Note{}
	}
	return commands.Note{Text: stoppedText + s.Waiting}
}

// recordStop records the turn that runs as the one to be stopped.
func (s *stops) recordStop(ctx context.Context, c Call, st core.ChannelStatus) (stopRecord, error) {
	open, err := s.Messages.OpenMessages(ctx, chats.Name)
	if err != nil {
		return stopRecord{}, err
	}
	stop := stopRecord{
		Turn:    st.Turn,
		Asked:   time.Now(),
		Shown:   delivers(open, &st),
		Waiting: commands.WaitingToo(st),
	}
	ofCommand := records.Entry{
		Key:   records.RecordStop + c.Key,
		Value: stop,
	}
	ofTurn := records.Entry{
		Key:   records.RecordStopped + string(stop.Turn),
		Value: stop,
	}
	err = s.Records.Write(ctx, ofCommand, ofTurn)
	return stop, err
}

// delivers reports whether the outcome of a channel's turn is delivered for one of the open messages.
func delivers(open []core.Message, st *core.ChannelStatus) bool {
	for i := range open {
		m := &open[i]
		if m.Deliver && m.Channel == st.Key && m.Turn == st.Turn {
			return true
		}
	}
	return false
}

// interruptWithProgress stops a turn, and shows in the meantime that the stop is under way.
func (s *stops) interruptWithProgress(ctx context.Context, c Call, stop stopRecord) (commands.Note, error) {
	slow := s.Work.Start(func(pause context.Context) {
		if wait.Sleep(pause, stopShown) == nil {
			s.sayProgress(ctx, c) // with ctx, not pause: Cancel must not cut the recording short
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

// progressID is the id of the message that says that a stop is under way.
func progressID(c Call) string { return "stopping:" + c.Key }

func (s *stops) sayProgress(ctx context.Context, c Call) {
	progress := view.Note{
		Text:    "Stopping…",
		ReplyTo: c.Message.ID,
	}
	s.Out.Say(ctx, progressID(c), c.Address.Key(), progress)
}

func (s *stops) removeProgress(ctx context.Context, c Call) {
	id := progressID(c)
	if !s.Out.Recorded(ctx, id) {
		return
	}
	removal := outbox.Edit{
		Of:     id,
		Remove: true,
	}
	s.Out.Edit(ctx, "edit:"+id, c.Address.Key(), removal)
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
		return says(commands.EndedByItself + stop.Waiting)
	case errors.Is(err, core.ErrUnwritten):
		return says(commands.StoppedUnwritten)
	case err != nil:
		return commands.Note{}, commands.Failed("stop the turn", err)
	}
	return says(commands.Stopped(hit.Took) + stop.Waiting)
}

// StoppedText returns the text of an outcome whose turn was stopped by a command; empty
// for other outcomes.
func (s *stops) StoppedText(ctx context.Context, m *core.Message) (string, error) {
	reply := &m.Reply
	if reply.State != core.Cancelled || reply.Code != core.CodeInterrupted || m.Turn == "" {
		return "", nil
	}
	var stop stopRecord
	found, err := s.Records.Get(ctx, records.RecordStopped+string(m.Turn), &stop)
	if err != nil || !found {
		return "", err
	}
	took := m.EndedAt.Sub(stop.Asked)
	text := commands.Stopped(took)
	if reply.Done != "" {
		text += " Done before that: " + mdtext.Literal(reply.Done) + "."
	}
	return text + stop.Waiting, nil
}

func (s *stops) tapStop(ctx context.Context, t chats.Tap) string {
	turn := core.TurnID(t.Arg)
	answer := s.stopTurn(ctx, t.Address.Key(), turn)
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
	address := chats.Address{
		Chat:   m.Chat.ID,
		Thread: m.MessageThreadID,
	}
	key := address.Key()
	turn := s.Live.Running(key)
	if turn != "" && live.DraftOf(turn) == m.DraftID {
		s.stopTurn(ctx, key, turn)
	}
}
