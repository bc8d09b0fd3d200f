package commands

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
)

type settings struct{ *Options }

func (s *settings) model(ctx context.Context, c Call) view.Note {
	if c.arg != "" {
		return s.setModel(ctx, c.Address, c.arg)
	}
	own := s.Core.Settings(c.Address.Key())
	st, err := s.Core.Present(ctx, c.Address.Key())
	if err != nil {
		return s.failed(ctx, "read the state of the chat", err)
	}
	return view.Model("The model of this chat is "+view.Configured(own.Model)+view.InUse(st)+".", own.Model)
}

func (s *settings) setModel(ctx context.Context, to chats.Address, name string) view.Note {
	own := name
	if name == view.ModelReset {
		own = ""
	}
	switch err := s.Core.ChangeSettings(ctx, to.Key(), &own, nil); {
	case errors.Is(err, core.ErrBadSetting):
		return view.BadModel(name)
	case err != nil:
		return s.failed(ctx, "set the model", err)
	}
	return view.Model("From the next turn on the model is "+view.Configured(own)+".", own)
}

func (s *settings) mode(ctx context.Context, c Call) view.Note {
	if c.arg != "" {
		return s.setMode(ctx, c.Address, c.arg)
	}
	return s.showMode(c.Address, "The permission mode of this chat is ")
}

func (s *settings) showMode(to chats.Address, text string) view.Note {
	own := s.Core.Settings(to.Key())
	return view.Mode(text+view.Configured(own.PermissionMode)+".", own.PermissionMode)
}

func (s *settings) tapMode(ctx context.Context, to chats.Address, arg string) view.Note {
	switch arg {
	case view.ModeSure:
		return s.useMode(ctx, to, view.ModeBypass)
	case view.ModeKeep:
		return s.showMode(to, "The permission mode is still ")
	}
	return s.setMode(ctx, to, arg)
}

func (s *settings) setMode(ctx context.Context, to chats.Address, name string) view.Note {
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

func (s *settings) useMode(ctx context.Context, to chats.Address, own string) view.Note {
	if err := s.Core.ChangeSettings(ctx, to.Key(), nil, &own); err != nil {
		return s.failed(ctx, "set the permission mode", err)
	}
	return view.Mode("From the next turn on the permission mode is "+view.Configured(own)+".", own)
}

func (s *settings) verbose(ctx context.Context, c Call) view.Note {
	if c.arg == "" {
		return view.Verbose("Shown here", s.Records.Verbosity(ctx, c.Address.Key()))
	}
	return s.setVerbose(ctx, c.Address, c.arg)
}

func (s *settings) setVerbose(ctx context.Context, to chats.Address, arg string) view.Note {
	level, err := strconv.Atoi(arg)
	if err != nil || level < 0 || level >= view.Levels {
		return view.BadVerbose(arg)
	}
	if err := s.Records.SetVerbosity(ctx, to.Key(), level); err != nil {
		return s.failed(ctx, "record the setting", err)
	}
	return view.Verbose("From now on", level)
}
