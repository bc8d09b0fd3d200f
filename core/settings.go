package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// maxRules bounds the rules of one channel: they are on the command line of its
// agent, which the system bounds too. The others bound single values.
const (
	maxRules      = 200
	maxRuleBytes  = 400
	maxModelBytes = 100
)

// Settings are what a channel has of its own, where others have what the gateway
// was configured with. They are part of how its session is started.
type Settings struct {
	Model          string // empty: the gateway's
	PermissionMode string // empty: the gateway's
	Rules          []Rule // oldest first; besides those of the gateway

	// HadModel and HadPermissionMode say that one was taken back: a session that is
	// resumed goes on with the old one unless it is told not to.
	HadModel, HadPermissionMode bool
}

// A Rule allows tool calls on one channel without asking.
type Rule struct {
	ID        string
	Channel   ChannelKey
	Rule      string // as the agent writes it: Bash(npm test:*), or Read
	Tool      string // its part before the bracket
	CreatedAt time.Time
	By        string // who added it, as an adapter says; may be empty
}

// A SettingsChange changes what one channel has of its own.
type SettingsChange struct {
	Channel        ChannelKey
	Model          *string // nil: as it is; empty: taken back
	PermissionMode *string
	Add            []Rule   // those that the channel has already, by Rule, change nothing
	Remove         []string // ids; unknown ones change nothing
}

// changed returns the settings with the change made to them. It shares nothing that
// is written to.
func (s Settings) changed(c *SettingsChange) Settings {
	if c.Model != nil {
		s.Model, s.HadModel = *c.Model, *c.Model == ""
	}
	if c.PermissionMode != nil {
		s.PermissionMode, s.HadPermissionMode = *c.PermissionMode, *c.PermissionMode == ""
	}
	s.Rules = slices.DeleteFunc(slices.Clone(s.Rules), func(r Rule) bool { return slices.Contains(c.Remove, r.ID) })
	for _, r := range c.Add {
		if !s.has(r.Rule) {
			s.Rules = append(s.Rules, r)
		}
	}
	return s
}

// inheriting returns the settings with those of another channel where it has none,
// and the rules of both.
func (s Settings) inheriting(from Settings) Settings {
	if s.Model == "" && (from.Model != "" || from.HadModel) {
		s.Model, s.HadModel = from.Model, from.HadModel
	}
	if s.PermissionMode == "" && (from.PermissionMode != "" || from.HadPermissionMode) {
		s.PermissionMode, s.HadPermissionMode = from.PermissionMode, from.HadPermissionMode
	}
	own := s.Rules
	s.Rules = nil
	for _, r := range slices.Concat(from.Rules, own) {
		if !s.has(r.Rule) {
			s.Rules = append(s.Rules, r)
		}
	}
	slices.SortStableFunc(s.Rules, func(a, b Rule) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return s
}

func (s *Settings) has(rule string) bool {
	return slices.ContainsFunc(s.Rules, func(r Rule) bool { return r.Rule == rule })
}

// Fingerprint tells settings apart that start a session differently. It is empty
// where there are none.
func (s Settings) Fingerprint() string {
	if s.Model == "" && s.PermissionMode == "" && len(s.Rules) == 0 {
		return ""
	}
	parts := make([]string, 0, len(s.Rules)+2)
	for _, r := range s.Rules {
		parts = append(parts, r.Rule)
	}
	slices.Sort(parts)
	b, err := json.Marshal(append(parts, s.Model, s.PermissionMode))
	if err != nil {
		panic(fmt.Sprintf("core: strings do not encode: %v", err))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// PermissionModes are those that a channel can have.
func PermissionModes() []string {
	return []string{"default", "manual", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"}
}

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

// isModel reports whether a text can be the name of a model, or is empty.
func isModel(s string) bool {
	bad := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
	return len(s) <= maxModelBytes && utf8.ValidString(s) && !strings.HasPrefix(s, "-") && !strings.ContainsFunc(s, bad)
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

// newRule checks what the agent could not read, or would read as something else.
func newRule(key ChannelKey, rule, by string, now time.Time) (Rule, error) {
	tool, content, bracket := strings.Cut(rule, "(")
	bad := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-*.", r)
	}
	switch {
	case tool == "" || strings.HasPrefix(tool, "-") || strings.Trim(tool, "*") == "" || strings.ContainsFunc(tool, bad),
		bracket && (len(content) < 2 || !strings.HasSuffix(content, ")")):
		return Rule{}, fmt.Errorf("%w: %.60q is no rule; write Tool or Tool(what it may do), as Read or Bash(npm test:*)", ErrBadSetting, rule)
	case len(rule) > maxRuleBytes:
		return Rule{}, fmt.Errorf("%w: the rule is longer than %d bytes", ErrBadSetting, maxRuleBytes)
	case !utf8.ValidString(rule) || strings.ContainsFunc(rule, unicode.IsControl):
		return Rule{}, fmt.Errorf("%w: the rule has control characters or is no UTF-8", ErrBadSetting)
	case slices.Contains(neverRuled, tool):
		return Rule{}, fmt.Errorf("%w: %s asks a person, and no rule can answer", ErrBadSetting, tool)
	}
	return Rule{ID: uuid.NewString(), Channel: key, Rule: rule, Tool: tool, CreatedAt: now, By: by}, nil
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
