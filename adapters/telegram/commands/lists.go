package commands

import (
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"context"
	"errors"
)

type lists struct{ *Options }

func (s *lists) queue(ctx context.Context, c Call) view.Note { return s.queueNote(ctx, c.Address) }

func (s *lists) queueNote(ctx context.Context, to chats.Address) view.Note {
	st, err := s.Core.Present(ctx, to.Key())
	if err != nil {
		return s.failed(ctx, "read the state of the chat", err)
	}
	waiting, err := s.Core.Queue(ctx, to.Key())
	if err != nil {
		return s.failed(ctx, "read the queue", err)
	}
	return view.Queue(st, waiting)
}

func (s *lists) drop(ctx context.Context, t chats.Tap) string {
	m, err := s.Core.Cancel(ctx, core.MessageID(t.Arg))
	return s.queueTapped(ctx, t, m, err, "Dropped.")
}

// runNow runs a message before the other messages, and stops the running turn. A tap
// interrupted by a crash is handled again, to complete the stop.
func (s *lists) runNow(ctx context.Context, t chats.Tap) string {
	id := core.MessageID(t.Arg)
	err := s.Core.RunNow(ctx, id)
	m := core.Message{}
	if errors.Is(err, core.ErrNotWaiting) {
		var failed error
		if m, failed = s.Core.Message(ctx, id); failed != nil {
			err = failed
		}
	}
	return s.queueTapped(ctx, t, m, err, "This message is next; what was running has been stopped.")
}

func (s *lists) queueTapped(ctx context.Context, t chats.Tap, m core.Message, err error, done string) string {
	switch {
	case errors.Is(err, core.ErrNotWaiting):
		done = "This message is no longer waiting: it is " + string(m.State) + "."
	case errors.Is(err, core.ErrNotFound):
		done = "This message is no longer known."
	case err != nil:
		return s.failed(ctx, "change the queue", err).Text
	}
	if !t.Stale {
		s.edit(ctx, t, s.queueNote(ctx, t.Address))
	}
	return done
}

func (s *lists) rules(_ context.Context, c Call) view.Note { return s.rulesNote(c.Address) }

func (s *lists) rulesNote(to chats.Address) view.Note {
	return view.Rules(s.Core.Settings(to.Key()).Rules)
}

func (s *lists) removeRule(ctx context.Context, t chats.Tap) string {
	if t.Stale {
		return "This message is too old for its buttons. Send /rules again."
	}
	answer := "Removed. Claude asks again from the next turn on."
	switch err := s.Core.RemoveRule(ctx, t.Address.Key(), t.Arg); {
	case errors.Is(err, core.ErrNotFound):
		answer = "This rule was already removed."
	case err != nil:
		return s.failed(ctx, "remove the rule", err).Text
	}
	s.edit(ctx, t, s.rulesNote(t.Address))
	return answer
}
