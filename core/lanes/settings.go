package lanes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bareclaw/core"
)

// Settings returns the channel's own settings, or the zero value. Settings does not block.
func (m *Manager) Settings(_ context.Context, key core.ChannelKey) (core.Settings, error) {
	return m.settings.get(key), nil
}

// Rules returns the channel's rules, oldest first.
func (m *Manager) Rules(ctx context.Context, key core.ChannelKey) ([]core.Rule, error) {
	s, err := m.Settings(ctx, key)
	return s.Rules, err
}

// SetModel sets the model from the channel's next turn on; an empty model removes the
// setting. A live session is replaced between turns, and the conversation is kept. Only the
// agent knows the valid models, so an invalid model shows in the next reply. SetModel
// returns once the setting is durable. Errors: ErrBadSetting, storage errors, ErrClosed.
func (m *Manager) SetModel(ctx context.Context, key core.ChannelKey, model string) error {
	return m.ChangeSettings(ctx, key, &model, nil)
}

// SetPermissionMode is SetModel for the permission mode: a value of PermissionModes.
func (m *Manager) SetPermissionMode(ctx context.Context, key core.ChannelKey, mode string) error {
	return m.ChangeSettings(ctx, key, nil, &mode)
}

// ChangeSettings combines SetModel and SetPermissionMode in one change; nil leaves a setting
// unchanged.
func (m *Manager) ChangeSettings(ctx context.Context, key core.ChannelKey, model, mode *string) error {
	if model != nil && !core.IsModelName(*model) {
		return fmt.Errorf("%w: %.40q is no name of a model", core.ErrBadSetting, *model)
	}
	if modes := core.PermissionModes(); mode != nil && *mode != "" && !slices.Contains(modes, *mode) {
		return fmt.Errorf("%w: %.40q is no permission mode; there are %s", core.ErrBadSetting, *mode, strings.Join(modes, ", "))
	}
	return m.changeSettings(ctx, core.SettingsChange{Channel: key, Model: model, PermissionMode: mode})
}

// AddRule allows matching tool calls on the channel without an approval, and returns the
// rule, or the existing rule with the same text. Errors: as SetModel.
func (m *Manager) AddRule(ctx context.Context, key core.ChannelKey, rule, by string) (core.Rule, error) {
	r, err := core.NewRule(key, rule, by, m.o.Now())
	if err != nil {
		return core.Rule{}, err
	}
	if s := m.settings.get(key); len(s.Rules) >= core.MaxRules && !s.HasRule(rule) {
		return core.Rule{}, fmt.Errorf("%w: the channel has %d rules already", core.ErrBadSetting, core.MaxRules)
	}
	if err := m.changeSettings(ctx, core.SettingsChange{Channel: key, Add: []core.Rule{r}}); err != nil {
		return core.Rule{}, err
	}
	for _, known := range m.settings.get(key).Rules {
		if known.Rule == rule {
			return known, nil
		}
	}
	return r, nil // another caller removed the rule meanwhile
}

// RemoveRule removes a rule of the channel. Errors: ErrNotFound if the channel has no rule
// id.
func (m *Manager) RemoveRule(ctx context.Context, key core.ChannelKey, id string) error {
	if !slices.ContainsFunc(m.settings.get(key).Rules, func(r core.Rule) bool { return r.ID == id }) {
		return fmt.Errorf("rule %s of channel %q: %w", id, key, core.ErrNotFound)
	}
	return m.changeSettings(ctx, core.SettingsChange{Channel: key, Remove: []string{id}})
}

// changeSettings makes a change durable, then applies the change in memory. The channel's
// lane wakes up to replace a session with outdated settings.
func (m *Manager) changeSettings(ctx context.Context, c core.SettingsChange) error {
	written := make(chan error, 1)
	m.o.Ledger.Write(core.Change{Settings: []core.SettingsChange{c}}, func(err error) {
		if err == nil {
			m.settings.change(&c) // in the ledger's order
			m.wakeLane(c.Channel)
		}
		written <- err
	})
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wakeLane makes the channel's lane, if any, run a step.
func (m *Manager) wakeLane(key core.ChannelKey) {
	if l, ok := m.known(key); ok {
		l.post(func() {})
	}
}
