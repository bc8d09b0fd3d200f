package core

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Settings returns what the channel has of its own; the zero value where it has
// nothing. It does not block.
func (m *ProcessManager) Settings(_ context.Context, key ChannelKey) (Settings, error) {
	return m.settings.of(key), nil
}

// Rules returns the channel's rules, oldest first.
func (m *ProcessManager) Rules(ctx context.Context, key ChannelKey) ([]Rule, error) {
	s, err := m.Settings(ctx, key)
	return s.Rules, err
}

// SetModel has the channel's next turn, and those after it, run with a model; empty
// takes that back. A session that is alive is replaced between turns, and the
// conversation is kept. What models there are only the agent knows: one that does
// not exist shows in the next reply. It returns once the setting is durable.
// Errors: ErrBadSetting, those of the storage, ErrClosed.
func (m *ProcessManager) SetModel(ctx context.Context, key ChannelKey, model string) error {
	return m.ChangeSettings(ctx, key, &model, nil)
}

// SetPermissionMode is SetModel for the permission mode, one of PermissionModes.
func (m *ProcessManager) SetPermissionMode(ctx context.Context, key ChannelKey, mode string) error {
	return m.ChangeSettings(ctx, key, nil, &mode)
}

// ChangeSettings is SetModel and SetPermissionMode in one change; nil leaves one as
// it is.
func (m *ProcessManager) ChangeSettings(ctx context.Context, key ChannelKey, model, mode *string) error {
	if model != nil && !isModel(*model) {
		return fmt.Errorf("%w: %.40q is no name of a model", ErrBadSetting, *model)
	}
	if modes := PermissionModes(); mode != nil && *mode != "" && !slices.Contains(modes, *mode) {
		return fmt.Errorf("%w: %.40q is no permission mode; there are %s", ErrBadSetting, *mode, strings.Join(modes, ", "))
	}
	return m.changeSettings(ctx, SettingsChange{Channel: key, Model: model, PermissionMode: mode})
}

// AddRule allows tool calls on the channel without asking, and returns the rule;
// the one that the channel has, if it has it already. Errors: as SetModel.
func (m *ProcessManager) AddRule(ctx context.Context, key ChannelKey, rule, by string) (Rule, error) {
	r, err := newRule(key, rule, by, m.o.Now())
	if err != nil {
		return Rule{}, err
	}
	if s := m.settings.of(key); len(s.Rules) >= maxRules && !s.has(rule) {
		return Rule{}, fmt.Errorf("%w: the channel has %d rules already", ErrBadSetting, maxRules)
	}
	if err := m.changeSettings(ctx, SettingsChange{Channel: key, Add: []Rule{r}}); err != nil {
		return Rule{}, err
	}
	for _, known := range m.settings.of(key).Rules {
		if known.Rule == rule {
			return known, nil
		}
	}
	return r, nil // it was removed again meanwhile
}

// RemoveRule takes a rule of the channel back. ErrNotFound if the channel has no
// such rule.
func (m *ProcessManager) RemoveRule(ctx context.Context, key ChannelKey, id string) error {
	if !slices.ContainsFunc(m.settings.of(key).Rules, func(r Rule) bool { return r.ID == id }) {
		return fmt.Errorf("rule %s of channel %q: %w", id, key, ErrNotFound)
	}
	return m.changeSettings(ctx, SettingsChange{Channel: key, Remove: []string{id}})
}

// changeSettings makes a change durable, then known. A session that was started
// with other settings is looked at by its lane.
func (m *ProcessManager) changeSettings(ctx context.Context, c SettingsChange) error {
	written := make(chan error, 1)
	m.o.Ledger.Write(Change{Settings: []SettingsChange{c}}, func(err error) {
		if err == nil {
			m.settings.change(&c) // in the ledger's order
			m.lookAt(c.Channel)
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

// lookAt has the channel's lane, if there is one, look what is to be done.
func (m *ProcessManager) lookAt(key ChannelKey) {
	if l, ok := m.known(key); ok {
		l.post(func() {})
	}
}
