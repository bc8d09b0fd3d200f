package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/steps"
	"bareclaw/internal/term"
)

// saveSettings writes the choices so far, and creates the file of Claude's notes.
func saveSettings(_ context.Context, w *wizard) (steps.Outcome, error) {
	names, err := w.write()
	if err != nil {
		return steps.Outcome{}, err
	}
	if err := config.Remember(); err != nil { // from now on commands read the .env here
		return steps.Outcome{}, err
	}
	if cfg, err := w.load(); err == nil {
		if err := cfg.CheckTokenTarget(varState, varHost, varPort); err != nil {
			w.note("Note: commands in this directory will refuse to send the token. %s", term.SafeLine(err.Error()))
		}
	}
	notes, err := makeNotes()
	if err != nil {
		return steps.Outcome{}, err
	}
	where := term.SafeLine(w.path)
	_, missing := os.Stat(w.path)
	switch {
	case len(names) > 0:
		where = "wrote " + strings.Join(names, ", ") + " to " + where
	case w.wrote:
		where = "closed " + where + " to others"
	case errors.Is(missing, fs.ErrNotExist):
		where = "every setting has its default, so there is no " + where
	default:
		where += " is as it should be"
	}
	if notes != "" {
		where += "; made " + term.SafeLine(notes) + " for Claude's notes"
	}
	return steps.DoneIf(len(names) > 0 || w.wrote || notes != "", where), nil
}

const notesText = `# Notes
What Claude keeps across conversations and channels. Yours to read and to change.
`

// makeNotes creates the file of Claude's notes beside the user's settings, and returns the
// path of a new file.
func makeNotes() (string, error) {
	_, dir, err := config.UserDirs()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the directory of notes: %w", err)
	}
	path := filepath.Join(dir, "notes.md")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", nil
	}
	if err == nil {
		_, err = f.WriteString(notesText)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return "", fmt.Errorf("make the file of notes: %w", err)
	}
	return path, nil
}

// The variables used by the steps.
const (
	varPort   = "BARECLAW_PORT"
	varHost   = "BARECLAW_HOST"
	varHTTP   = "BARECLAW_HTTP_TOKEN"
	varCWD    = "BARECLAW_CWD"
	varZone   = "BARECLAW_TZ"
	varClaude = "BARECLAW_CLAUDE"
	varAgent  = "BARECLAW_AGENT"
	varState  = "BARECLAW_STATE_DIR"

	varHeartbeat = "BARECLAW_HEARTBEAT"
)

// A store holds the settings in effect, and the choices to save.
type store struct {
	environ       []string          // of this process, before any .env was read
	onCommandLine map[string]string // by variable
	path          string            // of the file of the settings
	shadows       map[string]string // set by a .env that wins over the file
	choices       map[string]string // by variable
	wrote         bool              // the file has changed
	fresh         bool              // the file did not exist when the run began
}

func (s *store) inEnviron(name string) string { return service.Lookup(s.environ, name) }

// current returns the value of a variable: the choice, else the value that the gateway
// would read. Empty means the default.
func (s *store) current(name string) string {
	if value, ok := s.choices[name]; ok {
		return value
	}
	return s.set(name)
}

// set returns the value of a variable in the .env files. Empty means the default.
func (s *store) set(name string) string {
	if value := s.shadows[name]; value != "" && config.IsSetting(name) { // nothing else counts there
		return value
	}
	return s.saved(name)
}

// saved returns the value of a variable in the file of the settings, empty if unset.
func (s *store) saved(name string) string {
	f, err := openEnv(s.path)
	if err != nil {
		return "" // open has said so
	}
	return f.vars[name]
}

func (s *store) given(name string) bool {
	_, ok := s.onCommandLine[name]
	return ok
}

func (s *store) choose(name, value string) error {
	if err := config.Check(name, value); err != nil {
		return err
	}
	s.choices[name] = value
	return nil
}

// heldBack lists the choices that are not saved, because the gateway would refuse them without a
// setting that is empty.
func (s *store) heldBack() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.choices)) {
		needs := config.Requirement(name)
		if needs != "" && s.choices[name] != "" && s.current(needs) == "" && s.choices[name] != s.saved(name) {
			names = append(names, name)
		}
	}
	return names
}

// write saves the choices, except those held back.
func (s *store) write() (names []string, err error) {
	f, err := openEnv(s.path)
	if err != nil {
		return nil, err
	}
	held := s.heldBack()
	for _, name := range slices.Sorted(maps.Keys(s.choices)) {
		value := s.choices[name]
		if slices.Contains(held, name) {
			continue
		}
		old, isSet := f.vars[name]
		if old == value && (isSet || value == "") {
			continue
		}
		if err := f.set(name, value); err != nil {
			return nil, steps.Trouble(err.Error(), "choose another value, or set it in the environment")
		}
		names = append(names, name)
	}
	changed, err := f.save()
	if err != nil {
		return nil, err
	}
	s.wrote = s.wrote || changed
	return names, nil
}

// load returns the configuration of a gateway started now. Saved values come from the
// file, regardless of the environment.
func (s *store) load() (config.Config, error) {
	vars, err := config.ReadDotEnv(s.path)
	if err != nil {
		return config.Config{}, err
	}
	for name := range vars {
		if config.IsSetting(name) {
			_ = os.Unsetenv(name)
		}
	}
	return config.Load(config.AsGateway)
}

// daemonEnviron is the environment of a new gateway, without the variables of its file of
// settings.
func (s *store) daemonEnviron() []string {
	vars, _ := config.ReadDotEnv(s.path) // open has reported an error
	return slices.DeleteFunc(slices.Clone(s.environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return vars[name] != "" && (config.IsSetting(name) || name == varLogin)
	})
}

// readHere lists the settings in the .env of the working directory.
func (s *store) readHere() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.shadows)), func(name string) bool { return !config.IsSetting(name) })
}

// shadowed lists the choices that another .env overrides.
func (s *store) shadowed() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.choices)) {
		if other := s.shadows[name]; other != "" && other != s.choices[name] {
			names = append(names, name)
		}
	}
	return names
}

// stateDir returns the state directory, empty if unknown.
func (s *store) stateDir() string {
	if dir := expandHome(s.current(varState)); dir != "" {
		abs, _ := filepath.Abs(dir)
		return abs
	}
	dir, _, _ := config.UserDirs()
	return dir
}

func (s *store) port() string { return cmp.Or(s.current(varPort), config.DefaultOf(varPort)) }

func (s *store) host() string { return cmp.Or(s.current(varHost), config.DefaultOf(varHost)) }
