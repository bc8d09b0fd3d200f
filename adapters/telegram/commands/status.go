package commands

import (
	"context"
	"errors"

	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
)

type reports struct{ *Options }

func (s *reports) status(ctx context.Context, c Call) view.Note {
	key := c.Address.Key()
	st, err := s.Core.Present(ctx, key)
	if err != nil {
		return s.failed(ctx, "read the state of the chat", err)
	}
	used, err := s.Core.Usage(ctx, key)
	if err != nil {
		return s.failed(ctx, "read what was spent", err)
	}
	return view.Note{Text: view.Channel(st, s.Core.Settings(key), used, s.Gateway)}
}

func (s *reports) usage(ctx context.Context, c Call) view.Note {
	chat, err := s.Core.Usage(ctx, c.Address.Key())
	if err != nil {
		return s.failed(ctx, "read what was spent", err)
	}
	return view.Note{Text: view.Usage(chat, s.Core.Spending())}
}

func (s *reports) why(ctx context.Context, c Call) view.Note {
	replied := c.Message.ReplyToMessage != nil && !opensTopic(c)
	id, err := s.asksAbout(ctx, c, replied)
	switch {
	case err != nil:
		return s.failed(ctx, "find the message", err)
	case id == "" && replied:
		return view.Note{Text: "It is not known which request this message belongs to. Reply to a message of yours, or to an answer."}
	case id == "":
		return view.Note{Text: "Claude has not received a message of this chat yet."}
	}
	t, err := s.Core.Trace(ctx, id)
	if errors.Is(err, core.ErrNotFound) {
		return view.Note{Text: "This message is no longer known."}
	}
	if err != nil {
		return s.failed(ctx, "read the message", err)
	}
	return view.Note{Text: view.Trace(t)}
}

// opensTopic reports whether a command replies to the first message of the topic, as
// every message in a topic seems to.
func opensTopic(c Call) bool {
	m := c.Message
	return m.IsTopicMessage && m.ReplyToMessage.ID == m.MessageThreadID
}

// asksAbout returns the message meant by a /why; empty if unknown.
func (s *reports) asksAbout(ctx context.Context, c Call, replied bool) (core.MessageID, error) {
	if replied {
		return s.Records.LinkOf(ctx, c.Address.Chat, c.Message.ReplyToMessage.ID).Message, nil
	}
	newest, err := s.Core.Messages(ctx, c.Address.Key(), 1, "")
	if err != nil || len(newest) == 0 {
		return "", err
	}
	return newest[0].ID, nil
}
