package core

import (
	"maps"
	"sync"
	"sync/atomic"
)

// A settingsBook has the settings of all channels in memory, as the ledger has
// them: few channels have any, and each dispatch asks.
type settingsBook struct {
	mu  sync.Mutex                             // held by whoever writes
	all atomic.Pointer[map[ChannelKey]settled] // replaced as a whole
}

// A settled is one channel's entry.
type settled struct {
	Settings
	print string // its fingerprint
}

func (b *settingsBook) entry(key ChannelKey) settled {
	if all := b.all.Load(); all != nil {
		return (*all)[key]
	}
	return settled{}
}

// of returns the channel's settings, which must not be written to.
func (b *settingsBook) of(key ChannelKey) Settings { return b.entry(key).Settings }

// print returns the fingerprint of the channel's settings.
func (b *settingsBook) print(key ChannelKey) string { return b.entry(key).print }

// fill takes up what the ledger has.
func (b *settingsBook) fill(known map[ChannelKey]Settings) {
	b.write(func(all map[ChannelKey]settled) {
		for key, s := range known {
			all[key] = settled{s, s.Fingerprint()}
		}
	})
}

func (b *settingsBook) change(c *SettingsChange) {
	b.write(func(all map[ChannelKey]settled) {
		s := all[c.Channel].changed(c)
		all[c.Channel] = settled{s, s.Fingerprint()}
	})
}

// move gives the settings of one channel to another, which keeps what it has itself.
func (b *settingsBook) move(from, to ChannelKey) {
	b.write(func(all map[ChannelKey]settled) {
		s := all[to].inheriting(all[from].Settings)
		delete(all, from)
		all[to] = settled{s, s.Fingerprint()}
	})
}

// keys returns the channels that have, or had, settings.
func (b *settingsBook) keys() []ChannelKey {
	var keys []ChannelKey
	if all := b.all.Load(); all != nil {
		for key := range *all {
			keys = append(keys, key)
		}
	}
	return keys
}

func (b *settingsBook) write(f func(map[ChannelKey]settled)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := map[ChannelKey]settled{}
	if all := b.all.Load(); all != nil {
		next = maps.Clone(*all)
	}
	f(next)
	b.all.Store(&next)
}
