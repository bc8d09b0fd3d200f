package telegram

import (
	"context"

	"bareclaw/core"
)

// recallShown takes up the messages that an earlier process has shown things in.
func (f *follower) recallShown(ctx context.Context) {
	var r shownRecord
	if _, err := f.adapter.recall(ctx, recordShown+string(f.key), &r); err != nil && ctx.Err() == nil {
		f.adapter.o.Log.Warn("telegram: not known what was shown", "channel", string(f.key), "err", err)
	}
	f.status.live.id = r.Status
	f.stream.live.id = r.Stream
	f.stream.call(r.StreamName)
}

// changeShown changes the record of what is shown in a conversation.
func (a *Adapter) changeShown(ctx context.Context, key core.ChannelKey, change func(*shownRecord)) {
	a.showing.Lock()
	defer a.showing.Unlock()
	var r shownRecord
	_, err := a.recall(ctx, recordShown+string(key), &r)
	if err == nil {
		change(&r)
		if r == (shownRecord{}) {
			err = a.o.Core.Keep(ctx, &core.Record{Owner: Name, Key: recordShown + string(key)})
		} else {
			err = a.keep(ctx, recordShown+string(key), r)
		}
	}
	if err != nil && ctx.Err() == nil {
		a.o.Log.Warn("telegram: not remembered what is shown", "channel", string(key), "err", err)
	}
}
