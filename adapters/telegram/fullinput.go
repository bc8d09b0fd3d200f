package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
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
		return []part{&filePart{name: p.Tool + ".json", data: []byte(text), caption: "The whole input of " + p.Tool}}, nil
	}
	var b markdown.Builder
	return documentParts(b.Text("The whole input of ").Bold(p.Tool).Pre("json", text).Document(), nil, 0), nil
}

// A filePart is a file with a short text.
type filePart struct {
	name    string
	data    []byte
	caption string
}

func (f *filePart) send(ctx context.Context, c *client, to place) (int, error) {
	m, err := c.SendDocument(ctx, &bot.SendDocumentParams{
		ChatID: to.chat, MessageThreadID: to.thread, Caption: f.caption,
		Document: &models.InputFileUpload{Filename: f.name, Data: bytes.NewReader(f.data)},
	})
	if err != nil {
		return 0, fmt.Errorf("send %s: %w", f.name, err)
	}
	return m.ID, nil
}
