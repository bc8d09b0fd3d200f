package core

import (
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
	MaxRules      = 200
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

// Apply returns the settings with the change made to them. It leaves s and its rules as
// they are.
func (s Settings) Apply(c *SettingsChange) Settings {
	if c.Model != nil {
		s.Model, s.HadModel = *c.Model, *c.Model == ""
	}
	if c.PermissionMode != nil {
		s.PermissionMode, s.HadPermissionMode = *c.PermissionMode, *c.PermissionMode == ""
	}
	s.Rules = slices.DeleteFunc(slices.Clone(s.Rules), func(r Rule) bool { return slices.Contains(c.Remove, r.ID) })
	for _, r := range c.Add {
		if !s.HasRule(r.Rule) {
			s.Rules = append(s.Rules, r)
		}
	}
	return s
}

// Inherit returns the settings with those of another channel where s has none, and the
// rules of both, each text once, oldest first.
func (s Settings) Inherit(from Settings) Settings {
	if s.Model == "" && (from.Model != "" || from.HadModel) {
		s.Model, s.HadModel = from.Model, from.HadModel
	}
	if s.PermissionMode == "" && (from.PermissionMode != "" || from.HadPermissionMode) {
		s.PermissionMode, s.HadPermissionMode = from.PermissionMode, from.HadPermissionMode
	}
	own := s.Rules
	s.Rules = nil
	for _, r := range slices.Concat(from.Rules, own) {
		if !s.HasRule(r.Rule) {
			s.Rules = append(s.Rules, r)
		}
	}
	slices.SortStableFunc(s.Rules, func(a, b Rule) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return s
}

// HasRule reports whether there is a rule with exactly that text.
func (s *Settings) HasRule(rule string) bool {
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

// IsModelName reports whether a text can be the name of a model, or is empty. Whether
// there is such a model only the agent can say.
func IsModelName(s string) bool {
	bad := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
	return len(s) <= maxModelBytes && utf8.ValidString(s) && !strings.HasPrefix(s, "-") && !strings.ContainsFunc(s, bad)
}

// NewRule returns a rule of the channel, with a new id. It refuses, with ErrBadSetting,
// what the agent could not read or would read as something else.
func NewRule(key ChannelKey, rule, by string, now time.Time) (Rule, error) {
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
