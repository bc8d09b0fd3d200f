package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"bareclaw/internal/privatedir"
)

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
	r := resolver{machine: m, texts: map[string]string{}}
	maps.Copy(r.texts, texts)
	for _, s := range settings() {
		r.read(s)
	}
	r.resolveDirectories()
	if r.config.Host != "" && !IsLoopback(r.config.Host) && r.texts["BARECLAW_HTTP_TOKEN"] == "" {
		r.add("BARECLAW_HOST", "a loopback address such as 127.0.0.1, or any address together with BARECLAW_HTTP_TOKEN",
			"%s can be reached by others, and whoever reaches the gateway can run commands as this user", quoted(r.config.Host))
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
		s, _ := settingOf("BARECLAW_SESSION_FILE")
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
	if err := privatedir.CheckSocketDir(c.RuntimeDir); err != nil {
		c.RuntimeDir = ""
		r.check("BARECLAW_RUNTIME_DIR", fmt.Sprintf("a directory whose path has at most %d bytes", privatedir.MaxSocketDir), err)
	}
}
