package lanes

import (
	"maps"
	"sync"
	"sync/atomic"

	"bareclaw/core"
)

// A settingsBook has the settings of all channels in memory, as the ledger has
// them: few channels have any, and each dispatch asks.
type settingsCache struct {
	mu  sync.Mutex                                         // held by whoever writes
	all atomic.Pointer[map[core.ChannelKey]cachedSettings] // replaced as a whole
}

// A settled is one channel's entry.
type cachedSettings struct {
	core.Settings
	fingerprint string // its fingerprint
}

func (b *settingsCache) entry(key core.ChannelKey) cachedSettings {
	if all := b.all.Load(); all != nil {
		return (*all)[key]
	}
	return cachedSettings{}
}

// of returns the channel's settings, which must not be written to.
func (b *settingsCache) get(key core.ChannelKey) core.Settings { return b.entry(key).Settings }

// print returns the fingerprint of the channel's settings.
func (b *settingsCache) fingerprint(key core.ChannelKey) string { return b.entry(key).fingerprint }

// fill takes up what the ledger has.
func (b *settingsCache) fill(known map[core.ChannelKey]core.Settings) {
	b.write(func(all map[core.ChannelKey]cachedSettings) {
		for key, s := range known {
			all[key] = cachedSettings{s, s.Fingerprint()}
		}
	})
}

func (b *settingsCache) change(c *core.SettingsChange) {
	b.write(func(all map[core.ChannelKey]cachedSettings) {
		s := all[c.Channel].Apply(c)
		all[c.Channel] = cachedSettings{s, s.Fingerprint()}
	})
}

// move gives the settings of one channel to another, which keeps what it has itself.
func (b *settingsCache) move(from, to core.ChannelKey) {
	b.write(func(all map[core.ChannelKey]cachedSettings) {
		s := all[to].Inherit(all[from].Settings)
		delete(all, from)
		all[to] = cachedSettings{s, s.Fingerprint()}
	})
}

// keys returns the channels that have, or had, settings.
func (b *settingsCache) keys() []core.ChannelKey {
	var keys []core.ChannelKey
	if all := b.all.Load(); all != nil {
		for key := range *all {
			keys = append(keys, key)
		}
	}
	return keys
}

func (b *settingsCache) write(f func(map[core.ChannelKey]cachedSettings)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := map[core.ChannelKey]cachedSettings{}
	if all := b.all.Load(); all != nil {
		next = maps.Clone(*all)
	}
	f(next)
	b.all.Store(&next)
}
