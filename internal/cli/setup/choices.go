package setup

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bareclaw/core/config"
	"bareclaw/internal/cli/setup/envfile"
)

// The settings that are asked for.
const (
	varPort   = "BARECLAW_PORT"
	varHost   = "BARECLAW_HOST"
	varHTTP   = "BARECLAW_HTTP_TOKEN"
	varCWD    = "BARECLAW_CWD"
	varClaude = "BARECLAW_CLAUDE"
	varAgent  = "BARECLAW_AGENT"
	varBot    = "BARECLAW_TELEGRAM_TOKEN"
	varAPI    = "BARECLAW_TELEGRAM_API"
	varUsers  = "BARECLAW_ALLOWED_USERS"
	varNotify = "BARECLAW_HEARTBEAT_NOTIFY"

	varHeartbeat = "BARECLAW_HEARTBEAT"
)

// choices are settings to be saved, by variable.
type choices map[string]string

// open reads what is set, and settles where settings are kept.
func (w *wizard) open() error {
	files, err := config.DotEnvFiles()
	if err != nil {
		return err
	}
	if w.path = w.EnvFile; w.path == "" {
		if len(files) < 2 {
			return &trouble{"The directory of the user's configuration is not known.", "set HOME or XDG_CONFIG_HOME, or say where settings are kept with --env-file"}
		}
		w.path = files[1]
	}
	if w.path, err = filepath.Abs(w.path); err != nil {
		return fmt.Errorf("find the file of the settings: %w", err)
	}
	if _, err := envfile.Open(w.path); err != nil {
		return err
	}
	w.shadows = map[string]string{}
	if len(files) > 0 && files[0] != w.path {
		if w.shadows, err = config.ReadDotEnv(files[0]); err != nil {
			return err
		}
	}
	return w.adopt()
}

// adopt takes the gateway's settings from the environment, so that they can be changed
// in one place: a service would have them as they were when it was installed.
func (w *wizard) adopt() error {
	for _, v := range config.Variables() {
		value := w.inEnviron(v.Name)
		if value == "" {
			continue
		}
		if err := w.choose(v.Name, value); err != nil {
			return err
		}
	}
	set := w.current(varHTTP)
	maps.Copy(w.choices, w.Settings)
	w.adoptHeartbeat()
	if token, ok := w.Settings[varHTTP]; ok {
		w.choices[varHTTP] = meantToken(token, set)
	}
	return nil
}

// meantToken returns the token that is meant by what was given where another one, or
// none, is set: one is made only where there is none.
func meantToken(given, set string) string {
	switch given {
	case None:
		return ""
	case Generate:
		return cmp.Or(set, newToken())
	}
	return given
}

// inEnviron returns a variable of the environment that this process was started with.
func (w *wizard) inEnviron(name string) (value string) {
	for _, entry := range w.Environ {
		if rest, ok := strings.CutPrefix(entry, name+"="); ok {
			value = rest
		}
	}
	return value
}

// current returns what a variable is set to: what was chosen, else what the gateway
// would read, empty for its default.
func (w *wizard) current(name string) string {
	if value, ok := w.choices[name]; ok {
		return value
	}
	return w.set(name)
}

// set returns what .env files set a variable to, empty for its default.
func (w *wizard) set(name string) string {
	if value := w.shadows[name]; value != "" {
		return value
	}
	return w.saved(name)
}

// saved returns what the file of the settings sets a variable to, empty if it does not.
func (w *wizard) saved(name string) string {
	f, err := envfile.Open(w.path)
	if err != nil {
		return "" // open has said so
	}
	value, _ := f.Get(name)
	return value
}

// isRead reports whether a gateway reads the file of the settings by itself.
func (w *wizard) isRead() bool {
	read, err := config.DotEnvFiles()
	return err == nil && slices.Contains(read, w.path)
}

// given reports whether a setting was chosen on the command line.
func (w *wizard) given(name string) bool {
	_, ok := w.Settings[name]
	return ok
}

// choose checks a value and takes it. What is set so already needs no line.
func (w *wizard) choose(name, value string) error {
	if err := config.Check(name, value); err != nil {
		return err
	}
	w.choices[name] = value
	return nil
}

// write saves what was chosen, but for what the gateway would refuse: a bot without
// anybody who may talk to it.
func (w *wizard) write() (names []string, err error) {
	f, err := envfile.Open(w.path)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(w.choices)) {
		value := w.choices[name]
		if name == varBot && w.current(varUsers) == "" {
			continue
		}
		old, isSet := f.Get(name)
		if old == value && (isSet || value == "") {
			continue
		}
		if err := f.Set(name, value); err != nil {
			return nil, &trouble{err.Error(), "choose another value, or set it in the environment"}
		}
		names = append(names, name)
	}
	changed, err := f.Save()
	if err != nil {
		return nil, err
	}
	w.wrote = w.wrote || changed
	return names, nil
}

// load returns the configuration that a gateway which is started now has. What was
// saved comes from the file, whatever the environment says.
func (w *wizard) load() (config.Config, error) {
	read, err := config.DotEnvFiles()
	if err != nil {
		return config.Config{}, err
	}
	vars, err := config.ReadDotEnv(w.path)
	if err != nil {
		return config.Config{}, err
	}
	for name, value := range vars {
		if slices.Contains(read, w.path) {
			if strings.HasPrefix(name, "BARECLAW_") {
				_ = os.Unsetenv(name)
			}
		} else if err := os.Setenv(name, value); err != nil {
			return config.Config{}, fmt.Errorf("set %s: %w", name, err)
		}
	}
	return config.Load()
}

// daemonEnviron is the environment that a gateway is started with: without what is in
// its file of settings, so that the file says how it is.
func (w *wizard) daemonEnviron() []string {
	vars, _ := config.ReadDotEnv(w.path) // an error was told when it was opened
	read, _ := config.DotEnvFiles()
	var out []string
	for _, entry := range w.Environ {
		name, _, _ := strings.Cut(entry, "=")
		if vars[name] == "" || !strings.HasPrefix(name, "BARECLAW_") {
			out = append(out, entry)
		}
	}
	if slices.Contains(read, w.path) {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) { // nothing else tells it
		out = append(out, name+"="+vars[name])
	}
	return out
}

// shadowed lists the settings that another .env sets otherwise than they were chosen.
func (w *wizard) shadowed() []string {
	var names []string
	for name, value := range w.choices {
		if other := w.shadows[name]; other != "" && other != value {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// stateDir returns the state directory that is set, empty if it is not known.
func (w *wizard) stateDir() string {
	if dir := expandHome(w.current("BARECLAW_STATE_DIR")); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return ""
		}
		return abs
	}
	dir, _, err := config.UserDirs()
	if err != nil {
		return ""
	}
	return dir
}
