package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"bareclaw/adapters/telegram/records"
	"bareclaw/core"
)

// An owedBack says who is told that the gateway is back.
type owedBack struct {
	Channel core.ChannelKey `json:"channel"`
	ReplyTo int             `json:"reply_to"`
	Version string          `json:"version"` // before
	At      time.Time       `json:"at"`
}

// cmdRestart starts the gateway anew. What it says comes first: should it be done
// once more after a crash it is known to have been said, and nothing is done.
func (a *Adapter) cmdRestart(ctx context.Context, c call) Note {
	if a.o.Restart == nil {
		return Note{Text: "This gateway cannot restart itself."}
	}
	key := c.place.Key()
	owed := owedBack{Channel: key, ReplyTo: c.message.ID, Version: a.o.Version, At: time.Now()}
	if err := a.records.Put(ctx, records.Restart+c.key, owed); err != nil {
		return a.failed(ctx, "restart", err)
	}
	a.say(ctx, commandNote(c.key), key, Note{Text: "Restarting. Claude works on meanwhile, and what you write is kept.", ReplyTo: c.message.ID})
	err := a.o.Restart(ctx)
	if err == nil || ctx.Err() != nil {
		return Note{} // the new process says that it is there
	}
	a.settleBack(ctx, records.Restart+c.key)
	a.say(ctx, commandNote(c.key)+":failed", key, Note{Text: "The restart failed; the gateway goes on as it was. " + literal(err.Error()), ReplyTo: c.message.ID})
	return Note{}
}

// tellBack tells those who have asked for a restart that it is done.
func (a *Adapter) tellBack(ctx context.Context) {
	owed, err := a.o.Core.Records(ctx, Name, records.Restart)
	if err != nil && ctx.Err() == nil {
		a.o.Log.Error("telegram: not known who waits for a restart", "err", err)
	}
	for _, r := range owed {
		var o owedBack
		if err := json.Unmarshal(r.Doc, &o); err != nil {
			a.o.Log.Error("telegram: not known who waits for a restart", "record", r.Key, "err", err)
			continue
		}
		text := fmt.Sprintf("Back after %s, version %s", seconds(time.Since(o.At)), literal(a.o.Version))
		if o.Version != a.o.Version {
			text += ", before it was " + literal(o.Version)
		}
		a.say(ctx, "back:"+r.Key, o.Channel, Note{Text: text + ". Agent: " + literal(a.o.Agent) + ".", ReplyTo: o.ReplyTo})
		a.settleBack(ctx, r.Key)
	}
}

// settleBack forgets that somebody waits for a restart.
func (a *Adapter) settleBack(ctx context.Context, key string) {
	if err := a.records.Write(ctx, &core.Record{Owner: Name, Key: key}); err != nil && ctx.Err() == nil {
		a.o.Log.Error("telegram: not noted that a restart is over", "err", err)
	}
}
