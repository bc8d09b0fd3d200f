// Package settings holds each channel's overrides of the gateway's configuration: the model,
// the permission mode, the gateway's tools, and rules for tools.
//
// The ledger has the record. A [Cache] keeps all settings in memory, because few channels
// have settings and every dispatch reads them.
package settings

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"bareclaw/core"
	"bareclaw/internal/toolset"
)

// A Cache holds the settings of all channels, and writes changes to the ledger before
// applying them. All methods are safe for concurrent use.
type Cache struct {
	ledger   core.Writer
	changed  func(core.ChannelKey)
	defaults core.Settings

	mu  sync.RWMutex // protects all
	all map[core.ChannelKey]entry
}

// An entry is one channel's settings.
type entry struct {
	core.Settings
	fingerprint string // of Settings
}

// New returns a cache without settings of channels, for a gateway with the defaults. The cache
// calls changed, which must not block, after each change of a channel's settings by an adapter.
func New(ledger core.Writer, changed func(core.ChannelKey), defaults core.Settings) *Cache {
	return &Cache{ledger: ledger, changed: changed, defaults: defaults, all: map[core.ChannelKey]entry{}}
}

// Fill adds the settings read from the ledger.
func (c *Cache) Fill(known map[core.ChannelKey]core.Settings) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, s := range known {
		c.all[key] = entry{s, s.Fingerprint()}
	}
}

// Settings returns the channel's own settings, to be treated as read-only, or the zero
// value.
func (c *Cache) Settings(key core.ChannelKey) core.Settings { return c.entry(key).Settings }

// Tools returns the gateway's tools that the channel's sessions may use: the channel's own choice,
// or the gateway's. An empty key stands for a channel without settings of its own.
func (c *Cache) Tools(key core.ChannelKey) toolset.Set {
	return toolset.Set(cmp.Or(c.Settings(key).Tools, c.defaults.Tools))
}

// Mode is Tools for the permission mode. An empty mode leaves the choice to the agent's own
// settings.
func (c *Cache) Mode(key core.ChannelKey) string {
	return cmp.Or(c.Settings(key).PermissionMode, c.defaults.PermissionMode)
}

// HasRule reports whether the channel has a rule.
func (c *Cache) HasRule(key core.ChannelKey, rule string) bool {
	return slices.ContainsFunc(c.Settings(key).Rules, func(r core.Rule) bool { return r.Rule == rule })
}

// OwnModes returns the permission modes of the channels that have one of their own.
func (c *Cache) OwnModes() map[core.ChannelKey]string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	modes := map[core.ChannelKey]string{}
	for key, e := range c.all {
		if e.PermissionMode != "" {
			modes[key] = e.PermissionMode
		}
	}
	return modes
}

// Fingerprint returns the fingerprint of the channel's settings.
func (c *Cache) Fingerprint(key core.ChannelKey) string { return c.entry(key).fingerprint }

func (c *Cache) entry(key core.ChannelKey) entry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.all[key]
}

// Keys returns the channels with present or former settings.
func (c *Cache) Keys() []core.ChannelKey {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Collect(maps.Keys(c.all))
}

// A Choice changes a channel's settings: nil leaves one alone, empty removes it.
type Choice struct {
	Model, PermissionMode *string
	Tools                 *string // as toolset.Parse reads
}

// ChangeSettings makes a choice. The model and mode apply from the next turn, the tools at once. A
// live session is replaced between turns, and the conversation is kept. Only the agent knows
// the valid models, so an invalid model shows in the next reply. ChangeSettings returns once the
// change is durable. Errors: ErrBadSetting, storage errors, ErrClosed.
func (c *Cache) ChangeSettings(ctx context.Context, key core.ChannelKey, choice Choice) error {
	change := core.SettingsChange{Channel: key, Model: choice.Model, PermissionMode: choice.PermissionMode}
	if choice.Tools != nil {
		set, err := toolset.Parse(*choice.Tools)
		if err != nil {
			return fmt.Errorf("%w: tools: %w", core.ErrBadSetting, err)
		}
		change.Tools = new(string(set))
	}
	if model := choice.Model; model != nil && !core.IsModelName(*model) {
		return fmt.Errorf("%w: %.40q is not the name of a model", core.ErrBadSetting, *model)
	}
	mode := choice.PermissionMode
	if modes := core.PermissionModes(); mode != nil && *mode != "" && !slices.Contains(modes, *mode) {
		return fmt.Errorf("%w: %.40q is not a permission mode; there are %s", core.ErrBadSetting, *mode, strings.Join(modes, ", "))
	}
	return c.change(ctx, change)
}

// RemoveRule removes a rule of the channel. Errors: ErrNotFound if the channel has no rule
// id.
func (c *Cache) RemoveRule(ctx context.Context, key core.ChannelKey, id string) error {
	if !slices.ContainsFunc(c.Settings(key).Rules, func(r core.Rule) bool { return r.ID == id }) {
		return fmt.Errorf("rule %s of channel %q: %w", id, key, core.ErrNotFound)
	}
	return c.change(ctx, core.SettingsChange{Channel: key, Remove: []string{id}})
}

// change makes a change durable, then applies the change in memory, in the ledger's order.
func (c *Cache) change(ctx context.Context, change core.SettingsChange) error {
	return core.WriteAndWait(ctx, c.ledger, core.Change{Settings: []core.SettingsChange{change}}, func() {
		c.Apply(&change)
		c.changed(change.Channel)
	})
}

// Forget drops the settings of channels, once the ledger has forgotten the channels. Calls must have
// the ledger's order.
func (c *Cache) Forget(keys ...core.ChannelKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		delete(c.all, key)
	}
}

// Apply applies a durable change. Calls must have the ledger's order.
func (c *Cache) Apply(change *core.SettingsChange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.all[change.Channel].Apply(change)
	c.all[change.Channel] = entry{s, s.Fingerprint()}
}
