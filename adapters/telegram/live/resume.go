package live

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
	"bareclaw/core"
	"bareclaw/core/feed"
	"bareclaw/core/progress"
)

// firstUpdate is older than any update: resuming after firstUpdate delivers all kept
// updates.
const firstUpdate = "-"

// A leftOpen is a conversation followed by an earlier process. The subscription makes
// the core keep the updates of the conversation until ResumeLeft.
type leftOpen struct {
	to      chats.Address
	updates *feed.Subscription
	open    []core.Message
}

// Prepare subscribes to the conversations left open by an earlier process. The adapter
// calls Prepare once, before the core recovers: updates repeated by session hosts reach
// only existing subscriptions, and ResumeLeft comes later.
func (vs *Views) Prepare(ctx context.Context) error {
	open, err := vs.env.OpenMessages(ctx, chats.Name)
	if err != nil {
		return fmt.Errorf("telegram: find open messages: %w", err)
	}
	vs.mu.Lock()
	defer vs.mu.Unlock()
	vs.left = map[core.ChannelKey]*leftOpen{}
	for _, m := range open {
		if l := vs.leftLocked(m.Channel); l != nil {
			l.open = append(l.open, m)
		}
	}
	for _, kind := range []string{records.Status, records.Stream} { // messages to be finalized
		shown, err := vs.env.Records.All(ctx, kind)
		if err != nil {
			return fmt.Errorf("telegram: find live messages: %w", err)
		}
		for _, r := range shown {
			vs.leftLocked(core.ChannelKey(strings.TrimPrefix(r.Key, kind)))
		}
	}
	return nil
}

// leftLocked returns the conversation of a channel; nil if the channel is not a chat.
func (vs *Views) leftLocked(key core.ChannelKey) *leftOpen {
	if l := vs.left[key]; l != nil {
		return l
	}
	to, ok := chats.ParseAddress(key)
	if !ok {
		return nil
	}
	l := &leftOpen{to: to, updates: vs.env.Subscribe(key)}
	vs.left[key] = l
	return l
}

// ResumeLeft shows the conversations left open by an earlier process.
func (vs *Views) ResumeLeft() {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for _, l := range vs.left {
		vs.startLocked(vs.env.Moves.Present(l.to), l, true)
	}
	vs.left = nil
}

// resume replaces the subscription with a new subscription beginning with all kept
// updates, also of an earlier process. resume blocks until the earlier process has
// written its updates. The earlier process does so when the present process serves.
func (v *View) resume() {
	kept := v.updates
	v.updates = v.env.Resume(v.key, firstUpdate)
	kept.Close()
}

// restoreMessages continues with the messages displayed by an earlier process.
func (v *View) restoreMessages(ctx context.Context) {
	var s streamRecord
	_, err := v.env.Records.Get(ctx, records.Status+string(v.key), &v.status.shown.id)
	_, err2 := v.env.Records.Get(ctx, records.Stream+string(v.key), &s)
	v.env.Records.Warn(ctx, "the messages of an earlier process are not readable", errors.Join(err, err2), "channel", string(v.key))
	v.text.setName(s.Name)
	v.text.shown.id = s.Message
}

// adopt takes over the running turn if no update names the turn: another client began
// the turn, or only an earlier process received the update.
func (v *View) adopt(ctx context.Context) {
	st, err := v.env.Present(ctx, v.key)
	if err != nil {
		return // the adapter ends, or soon will
	}
	if s := v.fold.View(); s.Phase == progress.Running && s.Turn != st.Turn {
		return // a later turn runs
	}
	v.fold.Adopt(st)
	for _, m := range v.found {
		if st.Turn != "" && m.Turn == st.Turn && v.open[m.ID] {
			v.setTurn(st.Turn)
		}
	}
	v.found = nil
}
