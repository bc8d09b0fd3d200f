package telegram

import (
	"context"
	"fmt"
	"strings"

	"bareclaw/adapters/telegram/progress"
	"bareclaw/core"
)

// A leftOpen is a conversation that an earlier process has followed, until it is
// followed again.
type leftOpen struct {
	place   place
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
	for _, prefix := range []string{recordStatus, recordStream} { // what was shown is tidied up
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
	p, ok := parsePlace(key)
	if !ok {
		return nil
	}
	l := &leftOpen{place: p, updates: a.o.Core.Resume(key, fromTheStart)}
	a.left[key] = l
	return l
}

// followLeft follows the conversations that an earlier process has left.
func (a *Adapter) followLeft(ctx context.Context) error {
	present, err := a.o.Core.Overview(ctx)
	if err != nil {
		return fmt.Errorf("telegram: find what runs: %w", err)
	}
	a.followers.mu.Lock()
	defer a.followers.mu.Unlock()
	for key, l := range a.left {
		a.startFollower(l.place, l.updates, func(f *follower) {
			f.found = &found{open: l.open}
			for _, st := range present.Active {
				if st.Key == key {
					f.found.status = st
				}
			}
			for _, m := range l.open {
				f.open[m.ID] = true
			}
		})
	}
	a.left = nil
	return nil
}

// found is what a follower finds that begins in the middle of something.
type found struct {
	status core.ChannelStatus
	open   []core.Message
}

// adopt takes over what runs, if the updates that there are do not tell: its beginning
// was told to an earlier process.
func (f *follower) adopt() {
	st, v := f.found.status, f.fold.View()
	if v.Phase == progress.Running && v.Turn != st.Turn {
		return // it is further by now
	}
	f.fold.Adopt(st)
	for _, m := range f.found.open {
		if st.Turn != "" && m.Turn == st.Turn && f.open[m.ID] {
			f.setTurn(st.Turn)
		}
	}
}
