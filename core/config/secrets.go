package config

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

const redacted = "[redacted]"

// Secret is a string that fmt, slog and JSON encoders print as "[redacted]", or as nothing
// if unset. The zero value is unset.
type Secret struct {
	// A pointer, because fmt prints an unexported field of an unexported field without
	// calling String: fmt then prints only an address.
	value *string
}

// NewSecret returns a Secret with the value; an empty value is unset.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{value: &value}
}

// IsSet reports whether the secret has a value.
func (s Secret) IsSet() bool { return s.value != nil }

// Reveal returns the secret value, empty when unset. Never log the result.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// String returns a placeholder, or nothing when s is unset.
func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return redacted
}

// Format writes the placeholder for every verb.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, s.String()) }

// MarshalText returns the placeholder, for slog, JSON and other encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// An HTTPToken is a token that a request carries after "Bearer " in a header.
type HTTPToken struct{ Secret }

// Decode reads a token. Errors do not contain the value.
func (t *HTTPToken) Decode(text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("it has a space, a control character or a letter outside ASCII")
	}
	t.Secret = NewSecret(text)
	return nil
}

// Accepted describes tokens.
func (*HTTPToken) Accepted() string {
	return "letters, digits and punctuation of ASCII, without spaces"
}
