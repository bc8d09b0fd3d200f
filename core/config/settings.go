package config

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// A Variable describes one environment variable.
type Variable struct {
	Name    string
	Default string // in the syntax of the variable; empty if the default depends on the machine
}

// A setting is a field of [Config] with its tags.
type setting struct {
	Variable
	field reflect.StructField
	kind  kind
	args  []string // arguments of the kind
}

// accepted describes the values of the setting.
func (s setting) accepted() string {
	if text := cmp.Or(s.field.Tag.Get("accepted"), s.kind.accepted); text != "" {
		return text
	}
	last := len(s.args) - 1
	return strings.Join(s.args[:last], ", ") + s.kind.last + s.args[last] // "a, b or c"
}

// settings lists the settings in the order of the fields.
var settings = sync.OnceValue(func() (all []setting) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		if name := f.Tag.Get("env"); name != "" {
			words := strings.Fields(f.Tag.Get("kind"))
			all = append(all, setting{Variable{name, f.Tag.Get("default")}, f, kinds()[words[0]], words[1:]})
		}
	}
	return all
})

// settingOf returns the setting of a variable, false for an unknown one.
func settingOf(name string) (setting, bool) {
	all := settings()
	i := slices.IndexFunc(all, func(s setting) bool { return s.Name == name })
	if i < 0 {
		return setting{}, false
	}
	return all[i], true
}

// Variables lists every variable read by [Load], in the order of .env.example.
func Variables() []Variable {
	var out []Variable
	for _, s := range settings() {
		out = append(out, s.Variable)
	}
	return out
}

// DefaultOf returns the default of a variable, in the syntax of the variable.
func DefaultOf(name string) string {
	s, _ := settingOf(name)
	return s.Default
}
