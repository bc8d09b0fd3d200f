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

// MaxRules bounds the rules of a channel: rules are passed on the agent's command line,
// limited in length by the system. The further constants bound single values.
const (
	MaxRules      = 200
	maxRuleBytes  = 400
	maxModelBytes = 100
)

// Settings override the gateway's configuration for a channel. Sessions are started with the
// settings of their channel.
type Settings struct {
	Model          string // empty: the gateway's default
	PermissionMode string // empty: the gateway's default
	Tools          string // the gateway's tools that sessions may use; empty: the gateway's default
	Rules          []Rule // oldest first; in addition to the gateway's rules

	// HadModel and HadPermissionMode record that an override was removed: a resumed session
	// keeps the old value unless explicitly reset.
	HadModel, HadPermissionMode bool
}

// A Rule allows tool calls on a channel without asking.
type Rule struct {
	ID        string
	Channel   ChannelKey
	Rule      string // in the agent's syntax: Bash(npm test:*), or Read
	Tool      string // the part of Rule before the bracket
	CreatedAt time.Time
	By        string // the adding person's name from the adapter; may be empty
}

// Apply returns the settings with the change applied. Apply does not modify s or its rules.
func (s Settings) Apply(c *SettingsChange) Settings {
	if c.Model != nil {
		s.Model, s.HadModel = *c.Model, *c.Model == ""
	}
	if c.PermissionMode != nil {
		s.PermissionMode, s.HadPermissionMode = *c.PermissionMode, *c.PermissionMode == ""
	}
	if c.Tools != nil {
		s.Tools = *c.Tools
	}
	s.Rules = slices.DeleteFunc(slices.Clone(s.Rules), func(r Rule) bool { return slices.Contains(c.Remove, r.ID) })
	for _, r := range c.Add {
		if !s.HasRule(r.Rule) {
			s.Rules = append(s.Rules, r)
		}
	}
	return s
}

// HasRule reports whether the settings have a rule with exactly the given text.
func (s *Settings) HasRule(rule string) bool {
	return slices.ContainsFunc(s.Rules, func(r Rule) bool { return r.Rule == rule })
}

// Fingerprint identifies settings by their effect on the start of a session. The fingerprint
// of settings without an effect is empty.
func (s Settings) Fingerprint() string {
	if s.Model == "" && s.PermissionMode == "" && s.Tools == "" && len(s.Rules) == 0 {
		return ""
	}
	parts := make([]string, 0, len(s.Rules)+3)
	for _, r := range s.Rules {
		parts = append(parts, r.Rule)
	}
	slices.Sort(parts)
	parts = append(parts, s.Model, s.PermissionMode)
	if s.Tools != "" { // else the fingerprint is that of earlier programs
		parts = append(parts, s.Tools)
	}
	b, err := json.Marshal(parts)
	if err != nil {
		panic(fmt.Sprintf("core: strings do not encode: %v", err))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// IsModelName reports whether s is empty or has the form of a model's name. Only the agent
// knows whether the model exists.
func IsModelName(s string) bool {
	bad := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
	return len(s) <= maxModelBytes && utf8.ValidString(s) && !strings.HasPrefix(s, "-") && !strings.ContainsFunc(s, bad)
}

// NewRule returns a rule of the channel, with a new id. NewRule refuses, with ErrBadSetting,
// rules that the agent could not read or would read differently.
func NewRule(key ChannelKey, rule, by string, now time.Time) (Rule, error) {
	tool, content, bracket := strings.Cut(rule, "(")
	bad := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-*.", r)
	}
	switch {
	case tool == "" || strings.HasPrefix(tool, "-") || strings.Trim(tool, "*") == "" || strings.ContainsFunc(tool, bad),
		bracket && (len(content) < 2 || !strings.HasSuffix(content, ")")):
		return Rule{}, fmt.Errorf("%w: %.60q is not a rule; write Tool or Tool(what it may do), as Read or Bash(npm test:*)", ErrBadSetting, rule)
	case len(rule) > maxRuleBytes:
		return Rule{}, fmt.Errorf("%w: the rule is longer than %d bytes", ErrBadSetting, maxRuleBytes)
	case !utf8.ValidString(rule) || strings.ContainsFunc(rule, unicode.IsControl):
		return Rule{}, fmt.Errorf("%w: the rule has control characters or is not UTF-8", ErrBadSetting)
	case slices.Contains(neverRuled, tool):
		return Rule{}, fmt.Errorf("%w: %s asks a person, and no rule can answer", ErrBadSetting, tool)
	}
	return Rule{ID: uuid.NewString(), Channel: key, Rule: rule, Tool: tool, CreatedAt: now, By: by}, nil
}
