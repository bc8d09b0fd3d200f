package commands

import (
	"context"
	"errors"
	"slices"
	"strings"

	"bareclaw/core"
	"bareclaw/core/settings"
	"bareclaw/internal/mdtext"
)

const (
	// asDefault chooses the model configured for the gateway.
	asDefault = "default"
	// asConfigured chooses the permission mode configured for the gateway, and the model too.
	asConfigured = "reset"
	// bypass is the mode that must be confirmed: by bypass and confirmed.
	bypass    = "bypassPermissions"
	confirmed = "confirmed"
	// keep declines bypass: the chat keeps the current mode.
	keep = "keep"
	// quoted bounds what is repeated of an argument, in UTF-16 units.
	quoted = 100
)

// modesOffered are the modes with a choice: other modes are rarely wanted.
func modesOffered() []string {
	return []string{"default", "acceptEdits", "auto", "plan", bypass, asConfigured}
}

// A chooser shows and changes the model and the permission mode of channels.
type chooser struct {
	channels Channels
	settings Settings
	models   []string // that the agent offers
}

func (s chooser) model(ctx context.Context, c Call) (Note, error) {
	own := s.settings.Settings(c.Channel)
	st, err := s.channels.Present(ctx, c.Channel)
	if err != nil {
		return Note{}, Failed("read the state of the chat", err)
	}
	text := "The model of this chat is " + configured(own.Model) + inUse(st) + "."
	return s.modelNote(text, own.Model), nil
}

func (s chooser) setModel(ctx context.Context, c Call) (Note, error) {
	own := c.Arg
	if own == asDefault || own == asConfigured {
		own = ""
	}
	choice := settings.Choice{Model: &own}
	err := s.settings.ChangeSettings(ctx, c.Channel, choice)
	switch {
	case errors.Is(err, core.ErrBadSetting):
		return s.badModel(c.Arg), nil
	case err != nil:
		return Note{}, Failed("set the model", err)
	}
	text := "From the next turn on the model is " + configured(own) + "."
	return s.modelNote(text, own), nil
}

// modelNote shows a chat's own model, below a text, with the models that the agent offers. Any other
// is written.
func (s chooser) modelNote(text, own string) Note {
	present := own
	if own == "" {
		present = asDefault
	}
	offered := append(slices.Clone(s.models), asDefault)
	return Note{
		Text:    text + " Tap a model, or write /model and its name, any that Claude knows.",
		Choices: choices("/model", present, offered),
		Columns: 3,
	}
}

func (s chooser) badModel(name string) Note {
	such := ""
	if len(s.models) > 0 {
		names := strings.Join(s.models, "`, `")
		such = " such as `" + names + "`"
	}
	text := quote(name) + " is not the name of a model. Write one word" + such +
		", the full name of a model, or `default` for the model that the gateway is configured with."
	return Note{Text: text}
}

// quote returns the beginning of an argument, as Markdown.
func quote(arg string) string {
	return mdtext.Literal(mdtext.Brief(arg, quoted))
}

func (s chooser) mode(_ context.Context, c Call) (Note, error) {
	return s.showMode(c.Channel, "The permission mode of this chat is "), nil
}

func (s chooser) showMode(key core.ChannelKey, text string) Note {
	own := s.settings.Settings(key)
	mode := own.PermissionMode
	text += configured(mode) + "."
	return modeNote(text, mode)
}

func (s chooser) setMode(ctx context.Context, c Call) (Note, error) {
	own := c.Arg
	switch {
	case own == keep:
		return s.showMode(c.Channel, "The permission mode is still "), nil
	case own == asConfigured:
		own = ""
	case own == bypass:
		return confirmBypass(), nil
	case own == bypass+" "+confirmed:
		own = bypass
	case !slices.Contains(core.PermissionModes(), own):
		return badMode(own), nil
	}
	choice := settings.Choice{PermissionMode: &own}
	if err := s.settings.ChangeSettings(ctx, c.Channel, choice); err != nil {
		return Note{}, Failed("set the permission mode", err)
	}
	text := "From the next turn on the permission mode is " + configured(own) + "."
	return modeNote(text, own), nil
}

// modeNote shows a chat's own permission mode, below a text.
func modeNote(text, own string) Note {
	present := own
	if own == "" {
		present = asConfigured
	}
	return Note{
		Text:    text + " Tap a mode, or write /mode and one of " + modeNames() + ".",
		Choices: choices("/mode", present, modesOffered()),
		Columns: 2,
	}
}

func modeNames() string {
	return strings.Join(core.PermissionModes(), ", ")
}

// confirmBypass requests a confirmation to bypass permissions.
func confirmBypass() Note {
	yes := Choice{
		Label:   "Yes, bypass permissions",
		Command: "/mode " + bypass + " " + confirmed,
	}
	no := Choice{
		Label:   "No, keep the mode",
		Command: "/mode " + keep,
	}
	return Note{
		Text: "**Careful**: with `bypassPermissions` Claude does whatever it wants on the gateway's machine, and nobody is asked first. " +
			"Everyone who can write in this chat, and everything that Claude reads, may exploit that.",
		Choices: []Choice{yes, no},
	}
}

func badMode(name string) Note {
	text := quote(name) + " is not a permission mode. The modes are " + modeNames() +
		"; `reset` chooses the mode that the gateway is configured with."
	return Note{Text: text}
}

// choices returns a choice for each argument of a command, and marks the present one.
func choices(command, present string, all []string) []Choice {
	var made []Choice
	for _, arg := range all {
		label := arg
		if arg == asConfigured {
			label = "as configured"
		}
		choice := Marked(label, command+" "+arg, arg == present)
		made = append(made, choice)
	}
	return made
}

// Marked returns a choice, with a mark if it is the present one.
func Marked(label, command string, present bool) Choice {
	if present {
		label = "✓ " + label
	}
	return Choice{
		Label:   label,
		Command: command,
	}
}
