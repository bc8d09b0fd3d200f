package config

import (
	"reflect"
	"strings"
	"sync"

	"github.com/kelseyhightower/envconfig"
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
	if text := s.field.Tag.Get("accepted"); text != "" {
		return text
	}
	return s.kind.accepted(s.args)
}

// settings lists the settings in the order of the fields.
var settings = sync.OnceValue(func() []setting {
	var all []setting
	all = make([]setting, 0, reflect.TypeFor[Config]().NumField())
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		name := f.Tag.Get("envconfig")
		if name == "" {
			continue
		}
		words := strings.Fields(f.Tag.Get("kind"))
		all = append(all, setting{Variable{name, f.Tag.Get("default")}, f, kinds()[words[0]], words[1:]})
	}
	return all
})

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
	for _, s := range settings() {
		if s.Name == name {
			return s.Default
		}
	}
	return ""
}

// environment returns the texts of all settings by variable. envconfig stops at the first
// value with a conversion error. To report all problems together, environment fills a struct
// of strings with the tags of [Config].
func environment() (map[string]string, error) {
	var fields []reflect.StructField
	for _, s := range settings() {
		fields = append(fields, reflect.StructField{Name: s.field.Name, Type: reflect.TypeFor[string](), Tag: s.field.Tag})
	}
	v := reflect.New(reflect.StructOf(fields))
	err := envconfig.Process("", v.Interface())
	texts := map[string]string{}
	for i, s := range settings() {
		texts[s.Name] = v.Elem().Field(i).String()
	}
	return texts, err
}
