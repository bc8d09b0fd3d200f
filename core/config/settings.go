package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/kelseyhightower/envconfig"

	"bareclaw/internal/privatedir"
)

// A Variable describes one environment variable.
type Variable struct {
	Name    string
	Default string // in the syntax of the variable; empty if the default depends on the machine
}

// A decoder is the type of a setting.
type decoder interface {
	// Decode sets the value to what a text says. The text is not empty. The error says what is
	// wrong with the text; that of a secret does not contain it.
	Decode(text string) error
	// Accepted describes good texts.
	Accepted() string
}

// A setting is a field of a section of [Config] with its tags.
type setting struct {
	Variable
	section string // the name of Config's field; empty unless the setting is the first of its section
	field   reflect.StructField
	index   []int // of the field in Config
}

// of returns the setting's field in a configuration.
func (s setting) of(c *Config) reflect.Value {
	return reflect.ValueOf(c).Elem().FieldByIndex(s.index)
}

// decoder returns what sets the setting's field in a configuration.
func (s setting) decoder(c *Config) decoder { return s.of(c).Addr().Interface().(decoder) }

// trim removes the spaces around a text, unless it is a secret: a wrong secret is refused rather
// than silently changed.
func (s setting) trim(text string) string {
	if s.field.Tag.Get("secret") == "true" {
		return text
	}
	return strings.TrimSpace(text)
}

// inForce returns the text that counts: the trimmed one, or the default.
func (s setting) inForce(text string) string { return cmp.Or(s.trim(text), s.Default) }

var settings = sync.OnceValue(func() (all []setting) {
	for f := range reflect.TypeFor[Config]().Fields() {
		if section := settingsOf(f.Type, f.Index); len(section) > 0 {
			section[0].section = f.Name
			all = append(all, section...)
		}
	}
	return all
})

// settingsOf returns the settings of a section, and of the sections within, in the order of the
// fields. The index is that of the section in Config.
func settingsOf(section reflect.Type, index []int) (all []setting) {
	if section.Kind() != reflect.Struct {
		return nil
	}
	for f := range section.Fields() {
		path := append(slices.Clone(index), f.Index...)
		name := f.Tag.Get("envconfig")
		if name == "" {
			all = append(all, settingsOf(f.Type, path)...)
			continue
		}
		all = append(all, setting{
			Variable: Variable{name, f.Tag.Get("default")},
			field:    f,
			index:    path,
		})
	}
	return all
}

// settingOf returns the setting of a variable, which must exist.
func settingOf(name string) setting {
	all := settings()
	return all[slices.IndexFunc(all, func(s setting) bool { return s.Name == name })]
}

// IsHarmless reports whether a variable is a setting that anybody may choose: it runs no programs,
// and says neither who may reach the gateway nor where files are read and written.
func IsHarmless(name string) bool {
	return slices.ContainsFunc(settings(), func(s setting) bool { return s.Name == name && s.field.Tag.Get("harmless") == "true" })
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
func DefaultOf(name string) string { return settingOf(name).Default }

// A reading hands the text of a setting to its decoder, as people mean it: without spaces around
// it, and the default in place of an empty one.
type reading struct {
	setting setting
	decoder decoder
}

// Decode has the text decoded, unless the text and the default are empty.
func (r *reading) Decode(text string) error {
	text = r.setting.inForce(text)
	if text == "" {
		return nil
	}
	return r.decoder.Decode(text)
}

// process has envconfig find the text in the process's environment. The error is that of the
// decoder: envconfig's own holds the text, which may be a secret.
func (r *reading) process() error {
	field := reflect.StructField{
		Name: "Setting",
		Type: reflect.TypeFor[*reading](),
		Tag:  r.setting.field.Tag,
	}
	spec := reflect.New(reflect.StructOf([]reflect.StructField{field}))
	spec.Elem().Field(0).Set(reflect.ValueOf(r))
	err := envconfig.Process("", spec.Interface())
	if wrong, ok := errors.AsType[*envconfig.ParseError](err); ok {
		return wrong.Err
	}
	return err
}

// A resolver turns texts into a Config.
type resolver struct {
	machine
	texts  map[string]string // by variable
	decode func(*reading) error
	config Config
	problems
}

// resolve decodes every setting, each regardless of errors in the others. A missing or empty
// text means the default.
func resolve(texts map[string]string, m machine) (Config, problems) {
	decode := func(r *reading) error { return r.Decode(texts[r.setting.Name]) }
	return resolveWith(decode, texts, m)
}

// resolveProcess is resolve for the process's environment, whose variables are the texts.
func resolveProcess(texts map[string]string, m machine) (Config, problems) {
	return resolveWith((*reading).process, texts, m)
}

func resolveWith(decode func(*reading) error, texts map[string]string, m machine) (Config, problems) {
	r := resolver{
		machine: m,
		texts:   map[string]string{},
		decode:  decode,
		config:  Config{given: map[string]string{}},
	}
	maps.Copy(r.texts, texts)
	for _, s := range settings() {
		r.read(s)
	}
	r.resolveDirectories()
	r.checkAccess()
	r.checkAdmitted()
	return r.config, r.problems
}

// read decodes a setting or records its problem.
func (r *resolver) read(s setting) {
	r.config.given[s.Name] = s.trim(r.texts[s.Name])
	r.texts[s.Name] = s.inForce(r.texts[s.Name])
	decoder := s.decoder(&r.config)
	err := r.decode(&reading{s, decoder})
	local, isLocal := decoder.(local)
	if err == nil && isLocal && r.texts[s.Name] != "" {
		err = local.resolve(r.machine)
	}
	if err != nil {
		s.of(&r.config).SetZero()
		r.add(s.Name, decoder.Accepted(), "%v", err)
	}
}

// checkAccess refuses settings that would let others run commands.
func (r *resolver) checkAccess() {
	c := &r.config
	guarded := r.texts["BARECLAW_HTTP_TOKEN"] != ""
	if c.HTTP.Host != "" && !IsLoopback(string(c.HTTP.Host)) && !guarded {
		r.add("BARECLAW_HOST", "a loopback address such as 127.0.0.1, or any address together with BARECLAW_HTTP_TOKEN",
			"%s can be reached by others, and whoever reaches the gateway can run commands as this user", quoted(string(c.HTTP.Host)))
	}
	if len(c.HTTP.AllowedHosts) > 0 && !guarded {
		r.add("BARECLAW_ALLOWED_HOSTS", "empty, or host names together with BARECLAW_HTTP_TOKEN",
			"requests for other names come through a proxy of this user, and whoever reaches the proxy can run commands as this user")
	}
}

// checkAdmitted refuses settings that let people in without the setting that says whom.
func (r *resolver) checkAdmitted() {
	for _, s := range settings() {
		needs := Requirement(s.Name)
		if needs != "" && r.texts[s.Name] != "" && r.texts[needs] == "" {
			r.add(needs, settingOf(needs).decoder(&r.config).Accepted(),
				"it is empty, but %s is set, and an adapter that listens to everyone lets everyone run commands", s.Name)
		}
	}
}

// resolveDirectories fills the directories that depend on the machine, and makes the path of
// the session file absolute unless the directory of claude is wrong.
func (r *resolver) resolveDirectories() {
	c := &r.config
	files := &c.Files
	switch {
	case files.CWD == "":
		files.SessionFile = "" // has no base
	case files.SessionFile != "":
		err := files.SessionFile.in(r.machine, files.CWD)
		r.check("BARECLAW_SESSION_FILE", files.SessionFile.Accepted(), err)
	}
	shared, err := r.stateDir()
	if r.texts["BARECLAW_STATE_DIR"] == "" {
		files.StateDir = Path(shared)
		r.check("BARECLAW_STATE_DIR", files.StateDir.Accepted(), err)
	}
	state := string(files.StateDir)
	c.ConfigDir = cmp.Or(r.configDir, state)
	c.UserDir = cmp.Or(shared, state)
	if r.texts["BARECLAW_RUNTIME_DIR"] == "" {
		files.RuntimeDir = Path(r.runtimeDir(state))
	}
	if r.texts["BARECLAW_TOOLS_DIR"] == "" {
		c.Claude.Tools.Dir = Path(filepath.Join(state, "tools"))
	}
	if err := privatedir.CheckSocketDir(string(files.RuntimeDir)); err != nil {
		files.RuntimeDir = ""
		r.check("BARECLAW_RUNTIME_DIR", fmt.Sprintf("a directory whose path has at most %d bytes", privatedir.MaxSocketDir), err)
	}
}

// Requirement returns the setting without which a setting is refused; empty: there is none.
func Requirement(name string) string {
	for _, s := range settings() {
		if s.Name == name {
			return s.field.Tag.Get("admits")
		}
	}
	return ""
}
