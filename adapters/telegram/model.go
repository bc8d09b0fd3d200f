package telegram

import (
	"context"
	"errors"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/core"
)

// modelAliases are names that the agent always knows. The last one takes the chat's
// own choice back.
var modelAliases = []string{"opus", "sonnet", "haiku", asConfigured}

// asConfigured is what is written to have what the gateway is configured with.
const asConfigured = "default"

// cmdModel shows or sets the chat's model.
func (a *Adapter) cmdModel(ctx context.Context, c call) Note {
	if c.arg != "" {
		return a.setModel(ctx, c.place, c.arg)
	}
	own, err := a.o.Core.Settings(ctx, c.place.Key())
	if err != nil {
		return a.failed(ctx, "read the settings", err)
	}
	st, err := a.o.Core.Present(ctx, c.place.Key())
	if err != nil {
		return a.failed(ctx, "look at the chat", err)
	}
	return modelNote("The model of this chat is "+configuredOr(own.Model)+inUse(st)+".", own.Model)
}

// tapModel is the tap on the name of a model.
func (a *Adapter) tapModel(ctx context.Context, t tap) string {
	return a.tapSetting(ctx, t, a.setModel)
}

func (a *Adapter) setModel(ctx context.Context, p chats.Address, name string) Note {
	own := name
	if name == asConfigured {
		own = ""
	}
	switch err := a.o.Core.SetModel(ctx, p.Key(), own); {
	case errors.Is(err, core.ErrBadSetting):
		return Note{Text: literal(brief(name, 100)) + " is no name of a model. Write one word such as `opus`, `sonnet`, `haiku`, " +
			"the full name of a model, or `default` for what the gateway is configured with."}
	case err != nil:
		return a.failed(ctx, "set the model", err)
	}
	return modelNote("The model is "+configuredOr(own)+" from the next turn on.", own)
}

func modelNote(text, own string) Note {
	var row []Button
	for _, alias := range modelAliases {
		row = append(row, Button{Text: chosen(alias, alias == own || alias == asConfigured && own == ""), Data: "model:" + alias})
	}
	return Note{Text: text + " Tap, or write /model and a name.", Buttons: [][]Button{row[:3], row[3:]}}
}

// chosen marks the button of what is so now.
func chosen(text string, is bool) string {
	if is {
		return "✓ " + text
	}
	return text
}

// tapSetting does what a button of a setting is for, and shows the new state in the
// message that has the button.
func (a *Adapter) tapSetting(ctx context.Context, t tap, set func(context.Context, chats.Address, string) Note) string {
	if t.stale {
		return "This message is too old for its buttons. Send the command again."
	}
	n := set(ctx, t.place, t.arg)
	a.change(ctx, "edit:"+t.key, t.place.Key(), edit{Message: t.message, Note: n})
	return ""
}
