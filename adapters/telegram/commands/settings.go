package commands

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
)

// model shows or sets the chat's model.
func (h *Handler) model(ctx context.Context, c Call) view.Note {
	if c.arg != "" {
		return h.setModel(ctx, c.Address, c.arg)
	}
	own, err := h.o.Core.Settings(ctx, c.Address.Key())
	if err != nil {
		return h.failed(ctx, "read the settings", err)
	}
	st, err := h.o.Core.Present(ctx, c.Address.Key())
	if err != nil {
		return h.failed(ctx, "read the state of the chat", err)
	}
	return view.Model("The model of this chat is "+view.Configured(own.Model)+view.InUse(st)+".", own.Model)
}

func (h *Handler) setModel(ctx context.Context, to chats.Address, name string) view.Note {
	own := name
	if name == view.ModelReset {
		own = ""
	}
	switch err := h.o.Core.SetModel(ctx, to.Key(), own); {
	case errors.Is(err, core.ErrBadSetting):
		return view.BadModel(name)
	case err != nil:
		return h.failed(ctx, "set the model", err)
	}
	return view.Model("From the next turn on the model is "+view.Configured(own)+".", own)
}

// mode shows or sets the chat's permission mode.
func (h *Handler) mode(ctx context.Context, c Call) view.Note {
	if c.arg != "" {
		return h.setMode(ctx, c.Address, c.arg)
	}
	return h.showMode(ctx, c.Address, "The permission mode of this chat is ")
}

func (h *Handler) showMode(ctx context.Context, to chats.Address, text string) view.Note {
	own, err := h.o.Core.Settings(ctx, to.Key())
	if err != nil {
		return h.failed(ctx, "read the settings", err)
	}
	return view.Mode(text+view.Configured(own.PermissionMode)+".", own.PermissionMode)
}

// tapMode handles a tap on a mode, or on an answer to the question about bypassing
// permissions.
func (h *Handler) tapMode(ctx context.Context, to chats.Address, arg string) view.Note {
	switch arg {
	case view.ModeSure:
		return h.useMode(ctx, to, view.ModeBypass)
	case view.ModeKeep:
		return h.showMode(ctx, to, "The permission mode is still ")
	}
	return h.setMode(ctx, to, arg)
}

func (h *Handler) setMode(ctx context.Context, to chats.Address, name string) view.Note {
	switch {
	case name == view.ModeReset:
		name = ""
	case name == view.ModeBypass:
		return view.ConfirmBypass()
	case !slices.Contains(core.PermissionModes(), name):
		return view.BadMode(name)
	}
	return h.useMode(ctx, to, name)
}

func (h *Handler) useMode(ctx context.Context, to chats.Address, own string) view.Note {
	if err := h.o.Core.SetPermissionMode(ctx, to.Key(), own); err != nil {
		return h.failed(ctx, "set the permission mode", err)
	}
	return view.Mode("From the next turn on the permission mode is "+view.Configured(own)+".", own)
}

// verbose shows or sets how much is shown while a turn runs.
func (h *Handler) verbose(ctx context.Context, c Call) view.Note {
	if c.arg == "" {
		return view.Verbose("Shown here", h.o.Store.SettingsOf(ctx, c.Address.Key()).Verbosity())
	}
	return h.setVerbose(ctx, c.Address, c.arg)
}

func (h *Handler) setVerbose(ctx context.Context, to chats.Address, arg string) view.Note {
	level, err := strconv.Atoi(arg)
	if err != nil || level < 0 || level >= view.Levels {
		return view.BadVerbose(arg)
	}
	s := h.o.Store.SettingsOf(ctx, to.Key())
	s.Verbose = &level
	if err := h.o.Store.Put(ctx, records.SettingsKey(to.Key()), s); err != nil {
		return h.failed(ctx, "record the setting", err)
	}
	return view.Verbose("From now on", level)
}
