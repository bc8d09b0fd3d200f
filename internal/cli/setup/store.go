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
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
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

// A store has the settings: those that are set, and those that were chosen and are to be
// saved.
type store struct {
	environ       []string          // of this process, before any .env was read
	onCommandLine map[string]string // by variable
	path          string            // of the file of the settings
	shadows       map[string]string // set by a .env that wins over the file
	choices       map[string]string // by variable
	wrote         bool              // the file has changed
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
func (s *store) inEnviron(name string) (value string) {
	for _, entry := range s.environ {
		if rest, ok := strings.CutPrefix(entry, name+"="); ok {
			value = rest
		}
	}
	return value
}

// current returns what a variable is set to: what was chosen, else what the gateway
// would read, empty for its default.
func (s *store) current(name string) string {
	if value, ok := s.choices[name]; ok {
		return value
	}
	return s.set(name)
}

// set returns what .env files set a variable to, empty for its default.
func (s *store) set(name string) string {
	if value := s.shadows[name]; value != "" {
		return value
	}
	return s.saved(name)
}

// saved returns what the file of the settings sets a variable to, empty if it does not.
func (s *store) saved(name string) string {
	f, err := envfile.Open(s.path)
	if err != nil {
		return "" // open has said so
	}
	value, _ := f.Get(name)
	return value
}

// isRead reports whether a gateway reads the file of the settings by itself.
func (s *store) isRead() bool {
	read, err := config.DotEnvFiles()
	return err == nil && slices.Contains(read, s.path)
}

// given reports whether a setting was chosen on the command line.
func (s *store) given(name string) bool {
	_, ok := s.onCommandLine[name]
	return ok
}

// choose checks a value and takes it. What is set so already needs no line.
func (s *store) choose(name, value string) error {
	if err := config.Check(name, value); err != nil {
		return err
	}
	s.choices[name] = value
	return nil
}

// write saves what was chosen, but for what the gateway would refuse: a bot without
// anybody who may talk to it.
func (s *store) write() (names []string, err error) {
	f, err := envfile.Open(s.path)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(s.choices)) {
		value := s.choices[name]
		if name == varBot && s.current(varUsers) == "" {
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
	s.wrote = s.wrote || changed
	return names, nil
}

// load returns the configuration that a gateway which is started now has. What was
// saved comes from the file, whatever the environment says.
func (s *store) load() (config.Config, error) {
	read, err := config.DotEnvFiles()
	if err != nil {
		return config.Config{}, err
	}
	vars, err := config.ReadDotEnv(s.path)
	if err != nil {
		return config.Config{}, err
	}
	for name, value := range vars {
		if slices.Contains(read, s.path) {
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
func (s *store) daemonEnviron() []string {
	vars, _ := config.ReadDotEnv(s.path) // an error was told when it was opened
	read, _ := config.DotEnvFiles()
	var out []string
	for _, entry := range s.environ {
		name, _, _ := strings.Cut(entry, "=")
		if vars[name] == "" || !strings.HasPrefix(name, "BARECLAW_") {
			out = append(out, entry)
		}
	}
	if slices.Contains(read, s.path) {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) { // nothing else tells it
		out = append(out, name+"="+vars[name])
	}
	return out
}

// shadowed lists the settings that another .env sets otherwise than they were chosen.
func (s *store) shadowed() []string {
	var names []string
	for name, value := range s.choices {
		if other := s.shadows[name]; other != "" && other != value {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// stateDir returns the state directory that is set, empty if it is not known.
func (s *store) stateDir() string {
	if dir := expandHome(s.current("BARECLAW_STATE_DIR")); dir != "" {
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

func (s *store) port() string { return cmp.Or(s.current(varPort), "3000") }

func (s *store) host() string { return cmp.Or(s.current(varHost), "127.0.0.1") }

// holder returns the gateway that runs on the state directory that is set, and false
// if there is none.
func (s *store) holder() (lockfile.Holder, bool) {
	dir := s.stateDir()
	h, err := lockfile.ReadHolder(filepath.Join(dir, lockfile.StateLockName))
	return h, err == nil && !h.Ended && proc.Alive(h.PID, h.Start)
}
