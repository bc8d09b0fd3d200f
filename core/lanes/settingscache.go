package lanes

import (
	"maps"
	"sync"
	"sync/atomic"

	"bareclaw/core"
)

// A settingsCache holds the ledger's settings of all channels in memory: few channels have
// settings, and each dispatch reads the cache.
type settingsCache struct {
	mu  sync.Mutex                                         // held by writers
	all atomic.Pointer[map[core.ChannelKey]cachedSettings] // replaced as a whole
}

// A cachedSettings is one channel's entry.
type cachedSettings struct {
	core.Settings
	fingerprint string // of Settings
}

func (b *settingsCache) entry(key core.ChannelKey) cachedSettings {
	if all := b.all.Load(); all != nil {
		return (*all)[key]
	}
	return cachedSettings{}
}

// get returns the channel's settings, to be treated as read-only.
func (b *settingsCache) get(key core.ChannelKey) core.Settings { return b.entry(key).Settings }

// fingerprint returns the fingerprint of the channel's settings.
func (b *settingsCache) fingerprint(key core.ChannelKey) string { return b.entry(key).fingerprint }

// fill adds the settings read from the ledger.
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

// move gives the settings of one channel to another, without overriding the target's own.
func (b *settingsCache) move(from, to core.ChannelKey) {
	b.write(func(all map[core.ChannelKey]cachedSettings) {
		s := all[to].Inherit(all[from].Settings)
		delete(all, from)
		all[to] = cachedSettings{s, s.Fingerprint()}
	})
}

// keys returns the channels with present or former settings.
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
