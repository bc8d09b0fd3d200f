package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"bareclaw/internal/zone"
)

// choose sets a choice to the one of all that a text names.
func choose[T ~string](choice *T, text string, all []T) error {
	if !slices.Contains(all, T(text)) {
		return fmt.Errorf("%s is unknown", quoted(text))
	}
	*choice = T(text)
	return nil
}

// alternatives lists choices as a sentence does: "a, b or c".
func alternatives[T ~string](all []T) string {
	var words []string
	for _, choice := range all {
		words = append(words, string(choice))
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// decodeList reads a comma-separated list whose entries parse reads. The entries are trimmed; an
// empty entry is an error.
func decodeList[T any](text string, parse func(string) (T, error)) ([]T, error) {
	texts, err := splitList(text, func(r rune) bool { return r == ',' })
	if err != nil {
		return nil, err
	}
	list := make([]T, len(texts))
	for i, entry := range texts {
		if list[i], err = parse(entry); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func splitList(text string, isComma func(rune) bool) ([]string, error) {
	var list []string
	start := 0
	add := func(end int) { list = append(list, strings.TrimSpace(text[start:end])) }
	for i, r := range text {
		if isComma(r) {
			add(i)
			start = i + 1
		}
	}
	add(len(text))
	if i := slices.Index(list, ""); i >= 0 {
		return nil, fmt.Errorf("entry %d of the list is empty", i+1)
	}
	return list, nil
}

// checkPrintable refuses a text with control characters.
func checkPrintable(text string) error {
	if !isPrintable(text) {
		return fmt.Errorf("%s has control characters", quoted(text))
	}
	return nil
}

// isPrintable reports whether s is valid UTF-8 without control characters.
func isPrintable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

func isVariableName(s string) bool {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(s)
}

// A CommandLine is a command line for sh.
type CommandLine string

// Decode reads a command line.
func (c *CommandLine) Decode(text string) error {
	if err := checkPrintable(text); err != nil {
		return err
	}
	*c = CommandLine(text)
	return nil
}

// Accepted describes command lines.
func (*CommandLine) Accepted() string { return "a command line for sh" }

// A Model is the name of a model, as for claude --model. It cannot be mistaken for an option.
type Model string

// Decode reads the name of a model.
func (m *Model) Decode(text string) error {
	switch {
	case strings.HasPrefix(text, "-"):
		return fmt.Errorf("%s looks like an option of the CLI", quoted(text))
	case !isPrintable(text) || strings.ContainsFunc(text, unicode.IsSpace):
		return fmt.Errorf("%s has spaces or control characters", quoted(text))
	}
	*m = Model(text)
	return nil
}

// Accepted describes names of models.
func (*Model) Accepted() string { return "a model's name, as for claude --model" }

// ToolRules are rules of the CLI for tools, as Bash(git log *).
type ToolRules []string

// Decode reads a list of rules, with commas allowed in parentheses: Bash(cut -d, -f1),Read is two
// rules.
func (t *ToolRules) Decode(text string) error {
	depth := 0
	rules, err := splitList(text, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return r == ',' && depth <= 0
	})
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if err := checkRule(rule); err != nil {
			return err
		}
	}
	*t = rules
	return nil
}

func checkRule(rule string) error {
	switch {
	case strings.HasPrefix(rule, "-"):
		return fmt.Errorf("%s looks like an option of the CLI", quoted(rule))
	case !isPrintable(rule):
		return fmt.Errorf("%s has control characters", quoted(rule))
	case strings.Count(rule, "(") != strings.Count(rule, ")"):
		return fmt.Errorf("%s has unbalanced parentheses", quoted(rule))
	}
	return nil
}

// Accepted describes lists of rules.
func (*ToolRules) Accepted() string { return "a comma-separated list, as Read,Bash(git log *)" }

// Names are names of environment variables that are no settings.
type Names []string

// Decode reads a list of names.
func (n *Names) Decode(text string) (err error) {
	*n, err = decodeList(text, parseName)
	return err
}

func parseName(text string) (string, error) {
	switch {
	case !isVariableName(text):
		return "", fmt.Errorf("%s is not a variable name", quoted(text))
	case IsSetting(text):
		return "", fmt.Errorf("%s is a setting of the daemon, which claude never sees", quoted(text))
	}
	return text, nil
}

// Accepted describes lists of names.
func (*Names) Accepted() string {
	return "a comma-separated list of variable names, none of them BARECLAW_…"
}

// A Channel is the key of a channel.
type Channel string

// maxChannelBytes is the core's bound for a channel's key.
const maxChannelBytes = 256

// Decode reads the key of a channel.
func (c *Channel) Decode(text string) error {
	if len(text) > maxChannelBytes {
		return fmt.Errorf("it is longer than %d bytes", maxChannelBytes)
	}
	if err := checkPrintable(text); err != nil {
		return err
	}
	*c = Channel(text)
	return nil
}

// Accepted describes channels.
func (*Channel) Accepted() string { return "a channel, as tg-123456789" }

// A Zone is the IANA name of a time zone.
type Zone string

// Decode reads the name of a time zone.
func (z *Zone) Decode(text string) error {
	if _, err := zone.Load(text); err != nil {
		return err
	}
	*z = Zone(text)
	return nil
}

// Accepted describes time zones.
func (*Zone) Accepted() string { return "a time zone, as Europe/Berlin or UTC" }
