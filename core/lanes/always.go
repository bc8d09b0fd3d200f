package lanes

import (
	"encoding/json"

	"bareclaw/core"
)

// always returns the effects of allowing a tool for ever: rules for the agent's process, the
// changes to write, and the fingerprint of the process's settings afterwards. The
// fingerprint is empty if the process's settings already differed from the channel's.
func (l *lane) always(a *core.Approval, by string) (rules json.RawMessage, cs []core.SettingsChange, known string) {
	always := core.AlwaysRules(*a)
	if len(always) == 0 {
		return nil, nil, ""
	}
	now := l.manager.settings.get(l.key)
	c := core.SettingsChange{Channel: l.key}
	for _, rule := range always {
		if r, err := core.NewRule(l.key, rule, by, a.DecidedAt); err == nil && len(now.Rules)+len(c.Add) < core.MaxRules {
			c.Add = append(c.Add, r)
		}
	}
	if !l.settingsStale() {
		known = now.Apply(&c).Fingerprint()
	}
	return core.SessionRules(*a), []core.SettingsChange{c}, known
}
