package core

import "encoding/json"

// always returns what an approval that is allowed for ever writes, what tells the
// agent's process, and the fingerprint of the settings that the process has then:
// empty if it differed from its channel before.
func (l *lane) always(a *Approval, by string) (rules json.RawMessage, cs []SettingsChange, known string) {
	always := AlwaysRules(*a)
	if len(always) == 0 {
		return nil, nil, ""
	}
	now := l.m.settings.of(l.key)
	c := SettingsChange{Channel: l.key}
	for _, rule := range always {
		if r, err := newRule(l.key, rule, by, a.DecidedAt); err == nil && len(now.Rules)+len(c.Add) < maxRules {
			c.Add = append(c.Add, r)
		}
	}
	if !l.differs() {
		known = now.changed(&c).Fingerprint()
	}
	return sessionRules(*a), []SettingsChange{c}, known
}
