package telegram

import (
	"context"
	"slices"
	"strings"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/core"
)

const (
	modeReset  = "reset" // takes the chat's own mode back
	modeBypass = "bypassPermissions"
	// modeSure and modeKeep are the data of the buttons that confirm and decline
	// modeBypass.
	modeSure = "sure"
	modeKeep = "keep"
)

// modesShown are those that have a button: the others are rarely wanted.
var modesShown = []string{"default", "acceptEdits", "plan", modeBypass, modeReset}

// cmdMode shows or sets the chat's permission mode.
func (a *Adapter) cmdMode(ctx context.Context, c call) Note {
	if c.arg != "" {
		return a.setMode(ctx, c.place, c.arg)
	}
	own, err := a.o.Core.Settings(ctx, c.place.Key())
	if err != nil {
		return a.failed(ctx, "read the settings", err)
	}
	return modeNote("The permission mode of this chat is "+configuredOr(own.PermissionMode)+".", own.PermissionMode)
}

// tapMode handles a tap on the name of a mode, or on an answer to the question about
// modeBypass.
func (a *Adapter) tapMode(ctx context.Context, t tap) string {
	switch t.arg {
	case modeSure:
		t.arg = modeBypass
		return a.tapSetting(ctx, t, a.useMode)
	case modeKeep:
		return a.tapSetting(ctx, t, a.keepMode)
	}
	return a.tapSetting(ctx, t, a.setMode)
}

func (a *Adapter) setMode(ctx context.Context, p chats.Address, name string) Note {
	switch {
	case name == modeReset:
		name = ""
	case name == modeBypass:
		return Note{
			Text: "**Careful**: with `bypassPermissions` Claude does whatever it wants on the gateway's machine, and nobody is asked first. " +
				"Whoever can write in this chat, and whatever Claude reads, may make use of that.",
			Buttons: [][]Button{{{"Yes, bypass permissions", "mode:" + modeSure}}, {{"No, keep the mode", "mode:" + modeKeep}}},
		}
	case !slices.Contains(core.PermissionModes(), name):
		return Note{Text: literal(brief(name, 100)) + " is no permission mode. There are " + strings.Join(core.PermissionModes(), ", ") +
			", and `reset` for what the gateway is configured with."}
	}
	return a.useMode(ctx, p, name)
}

// useMode sets the chat's own mode; none takes it back.
func (a *Adapter) useMode(ctx context.Context, p chats.Address, own string) Note {
	if err := a.o.Core.SetPermissionMode(ctx, p.Key(), own); err != nil {
		return a.failed(ctx, "set the permission mode", err)
	}
	return modeNote("The permission mode is "+configuredOr(own)+" from the next turn on.", own)
}

// keepMode changes nothing and shows the mode that the chat has.
func (a *Adapter) keepMode(ctx context.Context, p chats.Address, _ string) Note {
	own, err := a.o.Core.Settings(ctx, p.Key())
	if err != nil {
		return a.failed(ctx, "read the settings", err)
	}
	return modeNote("The permission mode stays "+configuredOr(own.PermissionMode)+".", own.PermissionMode)
}

func modeNote(text, own string) Note {
	var rows [][]Button
	for _, mode := range modesShown {
		label := mode
		if mode == modeReset {
			label = "as configured"
		}
		b := Button{Text: chosen(label, mode == own || mode == modeReset && own == ""), Data: "mode:" + mode}
		if len(rows) == 0 || len(rows[len(rows)-1]) == 2 {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], b)
	}
	return Note{Text: text + " Tap, or write /mode and one of " + strings.Join(core.PermissionModes(), ", ") + ".", Buttons: rows}
}
