package commands

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/core/settings"
)

// choice returns a command that calls set with its argument, or show if there is no argument
// or set is nil.
func choice(
	show func(context.Context, chats.Address) view.Note, set func(context.Context, chats.Address, string) view.Note,
) func(context.Context, Call) view.Note {
	return func(ctx context.Context, c Call) view.Note {
		if set == nil || c.arg == "" {
			return show(ctx, c.Address)
		}
		return set(ctx, c.Address, c.arg)
	}
}

// A chat answers the commands about a chat: reports, lists and settings.
type chat struct{ *Options }

func (s *chat) status(ctx context.Context, c Call) view.Note {
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

func (s *chat) usage(ctx context.Context, c Call) view.Note {
	used, err := s.Core.Usage(ctx, c.Address.Key())
	if err != nil {
		return s.failed(ctx, "read what was spent", err)
	}
	return view.Note{Text: view.Usage(used, s.Core.Spending())}
}

func (s *chat) why(ctx context.Context, c Call) view.Note {
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

// opensTopic reports whether a command replies to the message that opened the topic, as do
// all messages in a topic that reply to no other message.
func opensTopic(c Call) bool {
	m := c.Message
	return m.IsTopicMessage && m.ReplyToMessage.ID == m.MessageThreadID
}

// asksAbout returns the message meant by a /why; empty if unknown.
func (s *chat) asksAbout(ctx context.Context, c Call, replied bool) (core.MessageID, error) {
	if replied {
		return s.Records.LinkOf(ctx, c.Address.Chat, c.Message.ReplyToMessage.ID).Message, nil
	}
	newest, err := s.Core.Messages(ctx, c.Address.Key(), 1, "")
	if err != nil || len(newest) == 0 {
		return "", err
	}
	return newest[0].ID, nil
}

func (s *chat) queue(ctx context.Context, to chats.Address) view.Note {
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

func (s *chat) drop(ctx context.Context, t chats.Tap) string {
	m, err := s.Core.Cancel(ctx, core.MessageID(t.Arg))
	return s.queueTapped(ctx, t, m, err, "Dropped.")
}

// runNow runs a message before the other messages, and stops the running turn. A tap
// interrupted by a crash is handled again, to complete the stop.
func (s *chat) runNow(ctx context.Context, t chats.Tap) string {
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

func (s *chat) queueTapped(ctx context.Context, t chats.Tap, m core.Message, err error, done string) string {
	switch {
	case errors.Is(err, core.ErrNotWaiting):
		done = "This message is no longer waiting: it is " + string(m.State) + "."
	case errors.Is(err, core.ErrNotFound):
		done = "This message is no longer known."
	case err != nil:
		return s.failed(ctx, "change the queue", err).Text
	}
	if !t.Stale {
		s.edit(ctx, t, s.queue(ctx, t.Address))
	}
	return done
}

func (s *chat) rules(_ context.Context, to chats.Address) view.Note {
	return view.Rules(s.Core.Settings(to.Key()).Rules)
}

func (s *chat) removeRule(ctx context.Context, t chats.Tap) string {
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
	s.edit(ctx, t, s.rules(ctx, t.Address))
	return answer
}

func (s *chat) model(ctx context.Context, to chats.Address) view.Note {
	own := s.Core.Settings(to.Key())
	st, err := s.Core.Present(ctx, to.Key())
	if err != nil {
		return s.failed(ctx, "read the state of the chat", err)
	}
	return view.Model("The model of this chat is "+view.Configured(own.Model)+view.InUse(st)+".", own.Model, s.Models)
}

func (s *chat) setModel(ctx context.Context, to chats.Address, name string) view.Note {
	own := name
	if name == view.ModelReset {
		own = ""
	}
	switch err := s.Core.ChangeSettings(ctx, to.Key(), settings.Choice{Model: &own}); {
	case errors.Is(err, core.ErrBadSetting):
		return view.BadModel(name, s.Models)
	case err != nil:
		return s.failed(ctx, "set the model", err)
	}
	return view.Model("From the next turn on the model is "+view.Configured(own)+".", own, s.Models)
}

func (s *chat) mode(_ context.Context, to chats.Address) view.Note {
	return s.showMode(to, "The permission mode of this chat is ")
}

func (s *chat) showMode(to chats.Address, text string) view.Note {
	own := s.Core.Settings(to.Key())
	return view.Mode(text+view.Configured(own.PermissionMode)+".", own.PermissionMode)
}

func (s *chat) tapMode(ctx context.Context, to chats.Address, arg string) view.Note {
	switch arg {
	case view.ModeSure:
		return s.useMode(ctx, to, view.ModeBypass)
	case view.ModeKeep:
		return s.showMode(to, "The permission mode is still ")
	}
	return s.setMode(ctx, to, arg)
}

func (s *chat) setMode(ctx context.Context, to chats.Address, name string) view.Note {
	switch {
	case name == view.ModeReset:
		name = ""
	case name == view.ModeBypass:
		return view.ConfirmBypass()
	case !slices.Contains(core.PermissionModes(), name):
		return view.BadMode(name)
	}
	return s.useMode(ctx, to, name)
}

func (s *chat) useMode(ctx context.Context, to chats.Address, own string) view.Note {
	if err := s.Core.ChangeSettings(ctx, to.Key(), settings.Choice{PermissionMode: &own}); err != nil {
		return s.failed(ctx, "set the permission mode", err)
	}
	return view.Mode("From the next turn on the permission mode is "+view.Configured(own)+".", own)
}

func (s *chat) verbose(ctx context.Context, to chats.Address) view.Note {
	return view.Verbose("Shown here", s.Records.Verbosity(ctx, to.Key()))
}

func (s *chat) setVerbose(ctx context.Context, to chats.Address, arg string) view.Note {
	level, err := strconv.Atoi(arg)
	if err != nil || level < 0 || level >= view.Levels {
		return view.BadVerbose(arg)
	}
	if err := s.Records.SetVerbosity(ctx, to.Key(), level); err != nil {
		return s.failed(ctx, "record the setting", err)
	}
	return view.Verbose("From now on", level)
}
