package telegram

import (
	"context"
	"fmt"
	"strings"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/records"
	"bareclaw/core"
	"bareclaw/core/progress"
)

// A leftOpen is a conversation that an earlier process has followed, until it is
// followed again. Its subscription has the core keep what happens until then.
type leftOpen struct {
	place   chats.Address
	updates *core.Subscription
	open    []core.Message
}

// Prepare has the adapter hear what happens on the conversations that an earlier
// process has left open. It is called once, before the core takes up what was left:
// what session hosts say again then is heard by nobody else, and Run comes later.
func (a *Adapter) Prepare(ctx context.Context) error {
	open, err := a.o.Core.OpenMessages(ctx, Name)
	if err != nil {
		return fmt.Errorf("telegram: find open messages: %w", err)
	}
	a.left = map[core.ChannelKey]*leftOpen{}
	for _, m := range open {
		if l := a.leftOpen(m.Channel); l != nil {
			l.open = append(l.open, m)
		}
	}
	for _, prefix := range []string{records.Status, records.Stream} { // what was shown is tidied up
		shown, err := a.o.Core.Records(ctx, Name, prefix)
		if err != nil {
			return fmt.Errorf("telegram: find what was shown: %w", err)
		}
		for _, r := range shown {
			a.leftOpen(core.ChannelKey(strings.TrimPrefix(r.Key, prefix)))
		}
	}
	return nil
}

// leftOpen returns what is known of a conversation; nil if it is none.
func (a *Adapter) leftOpen(key core.ChannelKey) *leftOpen {
	if l := a.left[key]; l != nil {
		return l
	}
	p, ok := chats.ParseAddress(key)
	if !ok {
		return nil
	}
	l := &leftOpen{place: p, updates: a.o.Core.Subscribe(key)}
	a.left[key] = l
	return l
}

// followLeft follows the conversations that an earlier process has left.
func (a *Adapter) followLeft() {
	a.followers.mu.Lock()
	defer a.followers.mu.Unlock()
	for _, l := range a.left {
		a.startFollower(l.place, l.updates, func(f *follower) {
			f.resumes = true
			for _, m := range l.open {
				f.open[m.ID] = true
			}
			f.found = l.open
		})
	}
	a.left = nil
}

// resume replaces the follower's subscription by one that begins with all that is kept,
// also of an earlier process. It blocks until that process has written its updates, which
// it does when this one serves: so it must not be called before.
func (f *follower) resume() {
	kept := f.updates
	f.updates = f.adapter.o.Core.Resume(f.key, fromTheStart)
	kept.Close()
}

// adopt takes over what runs already, if the updates that there are do not tell of it:
// a turn that somebody else has begun, or one of which an earlier process was told.
func (f *follower) adopt(ctx context.Context) {
	st, err := f.adapter.o.Core.Present(ctx, f.key)
	if err != nil {
		return // the adapter ends, or soon will
	}
	if v := f.fold.View(); v.Phase == progress.Running && v.Turn != st.Turn {
		return // it is further by now
	}
	f.fold.Adopt(st)
	for _, m := range f.found {
		if st.Turn != "" && m.Turn == st.Turn && f.open[m.ID] {
			f.setTurn(st.Turn)
		}
	}
	f.found = nil
}
