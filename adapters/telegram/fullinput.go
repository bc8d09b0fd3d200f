package telegram

import (
	"context"
	"encoding/json"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"
)

// kindInput shows the whole input of a tool that somebody is asked about. Body is a
// core.ApprovalBody.
const kindInput core.DeliveryKind = "input"

// inputAsText is up to how many UTF-16 units an input is shown in the chat; a longer
// one comes as a file.
const inputAsText = 3500

// tapAll shows the whole input.
func (a *Adapter) tapAll(ctx context.Context, t tap) string {
	p, err := a.o.Core.Approval(ctx, t.arg)
	if err != nil {
		return "This request is not known any more."
	}
	body, err := json.Marshal(core.ApprovalBody{ID: p.ID})
	if err == nil {
		err = a.o.Core.Deliver(ctx, &core.Delivery{ID: "input:" + t.key, Kind: kindInput, Adapter: Name, Channel: p.Channel, Body: body})
	}
	if err != nil {
		return brief("That did not work, try again: "+err.Error(), answerShown)
	}
	return ""
}

// composeInput makes the parts that show a whole input.
func (a *Adapter) composeInput(ctx context.Context, d core.Delivery) ([]part, error) {
	p, err := a.approvalOf(ctx, d)
	if err != nil {
		return nil, err
	}
	text := indented(p.Input)
	if markdown.Length(text) > inputAsText {
		return []part{&filePart{name: p.Tool + ".json", content: text, caption: "The whole input of " + p.Tool}}, nil
	}
	var b markdown.Builder
	return documentParts(b.Text("The whole input of ").Bold(p.Tool).Pre("json", text).Document()), nil
}
