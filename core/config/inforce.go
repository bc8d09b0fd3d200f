package config

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"

	"bareclaw/internal/toolset"
	"bareclaw/internal/zone"
)

// FromDefault is the source of a setting that nobody has made.
const FromDefault = "default"

// A Value is a setting that is in force.
type Value struct {
	Name   string
	Text   string // in the syntax of the variable, or a description of a default that depends on the machine; of a secret a placeholder
	Source string // FromDefault, "the environment", or the path of a file
}

// InForce returns all settings, in the order of .env.example. No secret is among them.
func (c Config) InForce() []Value {
	var all []Value
	for _, s := range settings() {
		v := Value{Name: s.Name, Source: FromDefault}
		if c.given[s.Name] != "" {
			v.Source = c.sources[s.Name]
		}
		v.Text = cmp.Or(c.textInForce(s), s.field.Tag.Get("unset"), "none")
		all = append(all, v)
	}
	return all
}

// textInForce returns the text of a setting: the resolved path of a file or directory, and of any
// other setting what was written. It is empty where nothing is set.
func (c Config) textInForce(s setting) string {
	text := c.given[s.Name]
	switch value := s.decoder(&c).(type) {
	case interface{ Reveal() string }:
		return NewSecret(value.Reveal()).String()
	case *Zone:
		return cmp.Or(string(*value), zone.Name(time.Local, time.Now()))
	case *TextOrFile:
		if strings.HasPrefix(text, "@") { // and the path of a file, in place of what the file says
			return text
		}
	case *toolset.Set:
		return cmp.Or(text, s.Default)
	}
	if field := s.of(&c); field.Kind() == reflect.String {
		return field.String()
	}
	return cmp.Or(text, s.Default)
}

// String returns the setting as a line of a .env.
func (v Value) String() string { return fmt.Sprintf("%s=%s", v.Name, v.Text) }
