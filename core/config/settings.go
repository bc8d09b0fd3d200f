package config

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"bareclaw/internal/privatedir"
	"bareclaw/internal/toolset"
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

func (s setting) accepted() string {
	if text := cmp.Or(s.field.Tag.Get("accepted"), s.kind.accepted); text != "" {
		return text
	}
	last := len(s.args) - 1
	return strings.Join(s.args[:last], ", ") + s.kind.last + s.args[last] // "a, b or c"
}

var settings = sync.OnceValue(func() (all []setting) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		if name := f.Tag.Get("env"); name != "" {
			words := strings.Fields(f.Tag.Get("kind"))
			all = append(all, setting{Variable{name, f.Tag.Get("default")}, f, kinds()[words[0]], words[1:]})
		}
	}
	return all
})

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

// A kind is a class of settings with a common syntax. The args are the arguments of the
// field's kind tag.
type kind struct {
	accepted string // describes good values; empty: the args, with the word last before the final arg
	last     string
	parse    func(m machine, text string, args []string) (any, error)
}

// of returns a kind without arguments whose parser needs only the text.
func of[T any](accepted string, parse func(string) (T, error)) kind {
	return kind{accepted, "", func(_ machine, text string, _ []string) (any, error) { return parse(text) }}
}

// at returns a kind whose parser resolves a path, and also accepts some words as they are.
func at(accepted string, parse func(machine, string) (string, error), words ...string) kind {
	return kind{accepted, "", func(m machine, text string, _ []string) (any, error) {
		if slices.Contains(words, text) {
			return text, nil
		}
		return parse(m, text)
	}}
}

var kinds = sync.OnceValue(func() map[string]kind {
	const (
		host      = "an IP address or a host name, without a port"
		path      = "a path, absolute or starting with ~/"
		directory = "an existing directory, absolute or starting with ~/"
		duration  = "a duration, as 90s, 10m or 1h30m"
	)
	return map[string]kind{
		"int":    {"", " to ", parseIntSetting},
		"choice": {"", " or ", func(_ machine, text string, words []string) (any, error) { return oneOf(words, text) }},

		"bytes":             of("1KiB to 64MiB, as 32MiB, 10MB or 1048576", parseBodySize),
		"usd":               of("US dollars from 0 to 1000000, as 5 or 0.50, where 0 means any amount", parseDollars),
		"milliseconds":      of("milliseconds, where 0 means no limit", parseMillis),
		"duration":          of(duration+", of more than 0", durations(1)),
		"optional-duration": of(duration+", where 0 means for ever", durations(0)),
		"interval":          of("a duration of a minute or more, as 30m or 1h", durations(time.Minute)),
		"age":               of("days or a duration, as 30d or 12h, where 0 means for ever", parseAge),
		"level":             of("debug, info, warn or error", parseLevel),

		"host":          of(host, parseHost),
		"hosts":         of("a comma-separated list, each "+host, listOf(parseHost)),
		"url":           of("an http or https URL, as http://localhost:8081", parseBaseURL),
		"http-token":    of("letters, digits and punctuation of ASCII, without spaces", parseHTTPToken),
		"bot-token":     of("a token from @BotFather, as 123456:ABC-DEF", parseTelegramToken),
		"user-ids":      of("a comma-separated list of Telegram user ids, as 123456789,987654321", listOf(between[int64](1, math.MaxInt64))),
		"channel":       of("a channel, as tg-123456789", parseChannel),
		"line":          of("a command line for sh", parsePrintable),
		"zone":          of("a time zone, as Europe/Berlin or UTC", parseZone),
		"text":          of("a text", func(s string) (string, error) { return s, nil }),
		"word":          of("a word", parseWord),
		"tools":         of("a comma-separated list, as Read,Bash(git log *)", parseTools),
		"gateway-tools": of("all, none or a comma-separated list of names, as channel_list,json_format", toolset.Parse),
		"grants": {"a comma-separated list of network:HOST, network:*.DOMAIN, filesystem:/PATH and filesystem:/PATH:ro", "",
			func(m machine, text string, _ []string) (any, error) { return listOf(m.grant)(text) }},
		"loopback-address": of("a loopback address with a port, as 127.0.0.1:3001", parseLoopbackAddress),
		"names":            of("a comma-separated list of variable names, none of them BARECLAW_…", listOf(parseName)),

		"path":      at(path, machine.path),
		"directory": at(directory, machine.directory),
		"directories": {"a comma-separated list of existing directories, each absolute or starting with ~/", "",
			func(m machine, text string, _ []string) (any, error) { return listOf(m.directory)(text) }},
		"source":       at(directory+", or off", machine.directory, SourceOff),
		"command":      at("the path or the name of a program", machine.command),
		"text-or-file": at("a text, or @ and the path of a file", machine.textOrFile),
		"log-file":     at("auto, off or "+path, machine.path, LogFileAuto, LogFileOff),
	}
})

func parseIntSetting(_ machine, text string, limits []string) (any, error) {
	var low, high int
	if _, err := fmt.Sscan(strings.Join(limits, " "), &low, &high); err != nil {
		return nil, err
	}
	return between(low, high)(text)
}

// A resolver turns texts into a Config.
type resolver struct {
	machine
	texts  map[string]string // by variable
	config Config
	problems
}

// resolve parses every setting, each regardless of errors in the others. A missing or empty
// text means the default.
func resolve(texts map[string]string, m machine) (Config, problems) {
	r := resolver{machine: m, texts: map[string]string{}, config: Config{given: map[string]string{}}}
	maps.Copy(r.texts, texts)
	for _, s := range settings() {
		r.read(s)
	}
	r.resolveDirectories()
	if r.config.Host != "" && !IsLoopback(r.config.Host) && r.texts["BARECLAW_HTTP_TOKEN"] == "" {
		r.add("BARECLAW_HOST", "a loopback address such as 127.0.0.1, or any address together with BARECLAW_HTTP_TOKEN",
			"%s can be reached by others, and whoever reaches the gateway can run commands as this user", quoted(r.config.Host))
	}
	if len(r.config.AllowedHosts) > 0 && r.texts["BARECLAW_HTTP_TOKEN"] == "" {
		r.add("BARECLAW_ALLOWED_HOSTS", "empty, or host names together with BARECLAW_HTTP_TOKEN",
			"requests for other names come through a proxy of this user, and whoever reaches the proxy can run commands as this user")
	}
	if r.texts["BARECLAW_TELEGRAM_TOKEN"] != "" && r.texts["BARECLAW_ALLOWED_USERS"] == "" {
		r.add("BARECLAW_ALLOWED_USERS", kinds()["user-ids"].accepted,
			"it is empty, but BARECLAW_TELEGRAM_TOKEN is set, and a bot that listens to everyone lets everyone run commands")
	}
	return r.config, r.problems
}

// read parses a setting or records its problem. Secrets keep surrounding spaces: a wrong
// secret is refused rather than silently changed.
func (r *resolver) read(s setting) {
	text := r.texts[s.Name]
	if s.field.Tag.Get("secret") == "" {
		text = strings.TrimSpace(text)
	}
	r.config.given[s.Name] = text
	text = cmp.Or(text, s.Default)
	r.texts[s.Name] = text
	if text == "" {
		return
	}
	value, err := s.kind.parse(r.machine, text, s.args)
	r.check(s.Name, s.accepted(), err)
	if err == nil {
		field := reflect.ValueOf(&r.config).Elem().FieldByIndex(s.field.Index)
		field.Set(reflect.ValueOf(value).Convert(s.field.Type))
	}
}

// resolveDirectories fills the directories that depend on the machine, and makes the path of
// the session file absolute unless the directory of claude is wrong.
func (r *resolver) resolveDirectories() {
	c := &r.config
	if c.CWD == "" {
		c.SessionFile = "" // has no base
	} else {
		path, err := r.absolute(c.SessionFile, c.CWD)
		s := settingOf("BARECLAW_SESSION_FILE")
		r.check(s.Name, s.accepted(), err)
		c.SessionFile = path
	}
	shared, err := r.stateDir()
	if r.texts["BARECLAW_STATE_DIR"] == "" {
		c.StateDir = shared
		r.check("BARECLAW_STATE_DIR", kinds()["path"].accepted, err)
	}
	c.ConfigDir = cmp.Or(r.configDir, c.StateDir)
	c.UserDir = cmp.Or(shared, c.StateDir)
	if r.texts["BARECLAW_RUNTIME_DIR"] == "" {
		c.RuntimeDir = r.runtimeDir(c.StateDir)
	}
	if r.texts["BARECLAW_TOOLS_DIR"] == "" {
		c.ToolsDir = filepath.Join(c.StateDir, "tools")
	}
	if err := privatedir.CheckSocketDir(c.RuntimeDir); err != nil {
		c.RuntimeDir = ""
		r.check("BARECLAW_RUNTIME_DIR", fmt.Sprintf("a directory whose path has at most %d bytes", privatedir.MaxSocketDir), err)
	}
}

// Requirement returns the setting without which a setting is refused; empty: there is none.
func Requirement(name string) string {
	if name == "BARECLAW_TELEGRAM_TOKEN" {
		return "BARECLAW_ALLOWED_USERS"
	}
	return ""
}
