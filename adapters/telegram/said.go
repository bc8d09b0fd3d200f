package telegram

import (
	"context"
	"encoding/json"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"
	"bareclaw/core/progress"
)

// The deliveries of what a turn brings before its end.
const (
	kindSaid   core.DeliveryKind = "said"   // Body is a saidBody
	kindChange core.DeliveryKind = "change" // Body is a progress.Change
)

// A saidBody is a text that the agent said on its way to the answer.
type saidBody struct {
	Text string `json:"text"`           // Markdown
	Edit int    `json:"edit,omitempty"` // the message that it was shown in while it was written
}

// maxChange bounds what is kept of a change, in bytes: more than is shown of it.
const maxChange = 16 << 10

// said has a text delivered that is no answer.
func (f *follower) said(ctx context.Context, s progress.Said) {
	edit, forget := f.stream.take(ctx, s.Stream)
	switch {
	case f.verbose > 0:
		f.deliver(ctx, "said:"+s.ID, kindSaid, saidBody{Text: s.Text, Edit: edit}, forget...)
	case edit != 0:
		f.adapter.leave(ctx, f.place, edit, markdown.Document{}, forget...)
	}
}

// changed has a change of a file delivered.
func (f *follower) changed(ctx context.Context, c progress.Change) {
	if f.verbose == 0 {
		return
	}
	c.Old, c.New = c.Old[:min(len(c.Old), maxChange)], c.New[:min(len(c.New), maxChange)]
	f.deliver(ctx, "change:"+c.ID, kindChange, c)
}

// deliver records a delivery, together with records.
func (f *follower) deliver(ctx context.Context, id string, kind core.DeliveryKind, body any, records ...*core.Record) {
	doc, err := json.Marshal(body)
	if err == nil {
		d := &core.Delivery{ID: id, Kind: kind, Adapter: Name, Channel: f.key, Body: doc, Message: f.newest()}
		err = f.adapter.o.Core.DeliverKeeping(ctx, records, d)
	}
	if err != nil && ctx.Err() == nil {
		f.adapter.o.Log.Warn("telegram: not delivered what was said on the way", "channel", string(f.key), "err", err)
	}
}

// newest returns the newest open message: it carries the reply.
func (f *follower) newest() core.MessageID {
	var newest core.MessageID
	for m := range f.open {
		newest = max(newest, m)
	}
	return newest
}

// changeDocument shows a change of a file.
func changeDocument(c progress.Change) markdown.Document {
	if c.Old == "" {
		return markdown.Write(c.File, c.New)
	}
	return markdown.Diff(c.File, c.Old, c.New)
}
