package commands

import (
	"context"
	"fmt"
	"time"

	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
)

// A restartRecord is a chat to notify when the gateway is back.
type restartRecord struct {
	Channel core.ChannelKey `json:"channel"`
	ReplyTo int             `json:"reply_to"`
	Version string          `json:"version"` // before the restart
	At      time.Time       `json:"at"`
}

// restart restarts the gateway. restart records the answer first: after a crash, the
// recorded answer prevents a second restart by the same command.
func (h *Handler) restart(ctx context.Context, c Call) view.Note {
	if h.o.Restart == nil {
		return view.Note{Text: "This gateway cannot restart itself."}
	}
	key := c.Address.Key()
	r := restartRecord{Channel: key, ReplyTo: c.Message.ID, Version: h.o.Gateway.Version, At: time.Now()}
	if err := h.o.Records.Put(ctx, records.Restart+c.Key, r); err != nil {
		return h.o.failed(ctx, "restart", err)
	}
	h.o.Out.Say(ctx, answerID(c.Key), key, view.Note{Text: "Restarting. Claude goes on working, and your messages are kept.", ReplyTo: c.Message.ID})
	err := h.o.Restart(ctx)
	if err == nil || ctx.Err() != nil {
		return view.Note{} // the new process reports
	}
	h.restarted(ctx, records.Restart+c.Key)
	h.o.Out.Say(ctx, answerID(c.Key)+":failed", key, view.Note{
		Text: "The restart failed; the gateway runs on as before. " + view.Literal(err.Error()), ReplyTo: c.Message.ID,
	})
	return view.Note{}
}

// ReportRestart notifies the chats that requested a restart.
func (h *Handler) ReportRestart(ctx context.Context) {
	err := records.Each(ctx, h.o.Records, records.Restart, func(rest string, r restartRecord) {
		text := fmt.Sprintf("Back after %s, version %s", view.Duration(time.Since(r.At)), view.Literal(h.o.Gateway.Version))
		if r.Version != h.o.Gateway.Version {
			text += ", before " + view.Literal(r.Version)
		}
		h.o.Out.Say(ctx, "back:"+records.Restart+rest, r.Channel, view.Note{
			Text: text + ". Agent: " + view.Literal(h.o.Gateway.Agent) + ".", ReplyTo: r.ReplyTo,
		})
		h.restarted(ctx, records.Restart+rest)
	})
	if err != nil && ctx.Err() == nil {
		h.o.Log.Error("telegram: the chats that asked for a restart are not known", "err", err)
	}
}

// restarted deletes the record of a restart.
func (h *Handler) restarted(ctx context.Context, key string) {
	h.o.Records.Warn(ctx, "the record of a restart is kept", h.o.Records.Write(ctx, records.Deletion(key)))
}
