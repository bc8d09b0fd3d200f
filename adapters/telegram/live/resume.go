package live

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/env"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"
	"bareclaw/core/progress"
)

// firstUpdate is older than any update: resuming after firstUpdate delivers all kept
// updates.
const firstUpdate = "-"

// Prepare subscribes to the conversations left open by an earlier process. The adapter
// calls Prepare once, before the core recovers: updates repeated by session hosts reach
// only existing subscriptions, and ResumeLeft comes later.
func (vs *Views) Prepare(ctx context.Context) error {
	open, err := vs.env.OpenMessages(ctx, chats.Name)
	shown, err2 := vs.env.Records.All(ctx, env.RecordShown)
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("telegram: find open conversations: %w", err)
	}
	vs.mu.Lock()
	defer vs.mu.Unlock()
	vs.left = map[core.ChannelKey]*View{}
	for _, m := range open {
		if v := vs.leftLocked(m.Channel); v != nil {
			v.open[m.ID] = m.Turn
		}
	}
	for _, r := range shown { // messages to be finalized
		key, _, _ := strings.Cut(strings.TrimPrefix(r.Key, env.RecordShown), ":")
		vs.leftLocked(core.ChannelKey(key))
	}
	return nil
}

// leftLocked returns the view of a channel; nil if the channel is not a chat.
func (vs *Views) leftLocked(key core.ChannelKey) *View {
	if to, ok := chats.ParseAddress(key); ok && vs.left[key] == nil {
		vs.left[key] = vs.newView(to)
	}
	return vs.left[key]
}

// ResumeLeft shows the conversations left open by an earlier process.
func (vs *Views) ResumeLeft() {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for _, v := range vs.left {
		v.to, v.resumes = vs.env.Moves.Present(v.to), true
		vs.startLocked(v)
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

// restoreMessages continues with the messages displayed by an earlier process: the newest
// status and the newest text.
func (v *View) restoreMessages(ctx context.Context) {
	prefix := strings.TrimSuffix(shownKey(v.key, 0), "0")
	err := env.Each(ctx, v.env.Records, prefix, func(rest string, r shownRecord) {
		id, _ := strconv.Atoi(rest)
		e := v.status
		if r.Name != "" {
			e = v.text.shown
		}
		if left := min(id, e.id); left != 0 {
			v.finalize(ctx, v.to, left, markdown.Document{})
		}
		if id > e.id {
			e.id, e.name = id, r.Name
		}
	})
	v.env.Records.Warn(ctx, "the messages of an earlier process are not readable", err, "channel", string(v.key))
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
	for _, turn := range v.open {
		if turn != "" && turn == st.Turn {
			v.setTurn(turn)
		}
	}
}
