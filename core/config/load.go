package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/joho/godotenv"

	"bareclaw/internal/zone"
)

// A Role is what a program reads the settings for. It decides whether the .env of the working
// directory counts.
type Role int

const (
	// AsCommand is the role of a program that may be called in any directory.
	AsCommand Role = iota
	// AsGateway is the role of the gateway, and of whatever sets one up: a person has chosen
	// the directory for it.
	AsGateway
)

// Load reads the environment, the .env of the working directory, and the user's .env
// ($XDG_CONFIG_HOME/bareclaw/.env, ~/.config/bareclaw/.env without XDG_CONFIG_HOME). The
// environment wins, even with an empty value, and then the working directory's file.
//
// The working directory may be a repository that somebody else has written, whose .env must not
// decide what runs as the user, or who gets the user's token. So the file counts only for the
// gateway, and for commands where the directory is on record because a gateway was started
// or set up there (see [Remember]); only variables named BARECLAW_ are taken from it; and no
// token is sent to an address of another file (see [Config.CheckTokenTarget]). The user's file may
// hold any variable.
//
// Variables from the files are added to the process's own environment, for the tools of
// claude, and BARECLAW_TZ becomes the local time zone: call Load before starting anything.
//
// The error joins a [*Problem] for every mistake; the Config is then not usable. A missing
// .env is not an error.
func Load(role Role) (Config, error) {
	cfg, p := load(role)
	if cfg.Time.Zone != "" {
		p.check("BARECLAW_TZ", "", zone.Use(string(cfg.Time.Zone)))
	}
	if err := p.err(); err != nil {
		return Config{}, err
	}
	return cfg, nil
}

// load is Load, returning the valid settings along with all problems.
func load(role Role) (Config, problems) {
	var p problems
	cwd, err := os.Getwd()
	p.check("working directory", "", err)
	vars := variablesOf(os.Environ())
	left := vars.addDotEnv(cwd, role, &p, os.Setenv)
	cfg, wrong := resolveProcess(vars.values, machineAt(cwd, vars.get)) // after loading: the user's .env may set HOME and the XDG directories
	cfg.Unknown, cfg.sources = append(unknown(os.Environ()), left...), vars.sources
	return cfg, append(p, wrong...)
}

// StateDirOf returns the state directory that [Load] would find for a gateway started in dir
// with the variables of environ, in the form NAME=value. Without HOME or an XDG variable in
// environ, the variable of the current process applies. The error reports an invalid .env or
// path.
func StateDirOf(dir string, environ []string) (string, error) {
	vars := variablesOf(environ)
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		vars.add(name, os.Getenv(name), fromEnvironment)
	}
	var p problems
	vars.addDotEnv(dir, AsGateway, &p, func(string, string) error { return nil })
	m := machineAt(dir, vars.get)
	path, err := m.stateDir()
	if own := vars.get("BARECLAW_STATE_DIR"); own != "" {
		path, err = m.path(own)
	}
	return path, errors.Join(p.err(), err)
}

// fromEnvironment is the source of the variables that the process was started with. The other
// sources are paths of files.
const fromEnvironment = "the environment"

// variables are the variables of an environment: their values and sources, by name.
type variables struct{ values, sources map[string]string }

func variablesOf(environ []string) variables {
	vars := variables{map[string]string{}, map[string]string{}}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		vars.values[name], vars.sources[name] = value, fromEnvironment
	}
	return vars
}

func (v variables) get(name string) string { return v.values[name] }

// add sets a variable unless it is set already, and reports whether add did.
func (v variables) add(name, value, source string) bool {
	_, known := v.values[name]
	if !known {
		v.values[name], v.sources[name] = value, source
	}
	return !known
}

// addDotEnv adds the variables of the .env files of a program started in dir, except
// variables already set, and calls set for each. An unusable file sets nothing. addDotEnv
// returns a sentence about what it has left out of the file in dir, if it has.
func (v variables) addDotEnv(dir string, role Role, p *problems, set func(name, value string) error) (left []string) {
	here, users := dotEnvFiles(dir, v.get)
	addAll := func(file string, vars map[string]string) {
		for name, value := range vars {
			if v.add(name, value, file) {
				p.check(file, "values without NUL bytes", set(name, value))
			}
		}
	}
	ofUser := p.readDotEnv(users)
	if here != users && (role == AsGateway || isOnRecord(dir, v.over(ofUser))) {
		vars := p.readDotEnv(here)
		left = onlySettings(here, users, vars)
		addAll(here, vars)
	}
	addAll(users, ofUser)
	return left
}

// over returns the lookup of variables among v, and where v lacks them among others.
func (v variables) over(others map[string]string) func(name string) string {
	return func(name string) string {
		if value, known := v.values[name]; known {
			return value
		}
		return others[name]
	}
}

// onlySettings removes from the variables of a working directory's file all that are no settings
// of the gateway, and returns a sentence that names them, if there are any.
func onlySettings(file, users string, vars map[string]string) []string {
	var names []string
	for name := range vars {
		if !IsSetting(name) || isGiven(name) {
			names = append(names, name)
			delete(vars, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	const enough = 5
	if len(names) > enough {
		names = append(names[:enough], "…")
	}
	return []string{fmt.Sprintf("%s sets %s: of this file only BARECLAW_ variables count; put others into %s",
		file, strings.Join(names, ", "), cmp.Or(users, "the environment"))}
}

// Check returns the problem of a variable's value, a [*Problem]; nil for a valid value. Only
// [Load] checks variables together.
func Check(name, value string) error {
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	texts := map[string]string{"BARECLAW_HTTP_TOKEN": "any", "BARECLAW_ALLOWED_USERS": "1", name: value} // required by other variables
	_, p := resolve(texts, machineAt(cwd, os.Getenv))
	for _, err := range p {
		if problem, ok := errors.AsType[*Problem](err); ok && problem.Source == name {
			return problem
		}
	}
	return nil
}

// UserDirs returns [Config.UserDir] and [Config.ConfigDir], which depend on HOME and the
// XDG directories of the environment alone.
func UserDirs() (state, config string, err error) {
	m := machineAt("", os.Getenv)
	state, err = m.stateDir()
	return state, cmp.Or(m.configDir, state), err
}

// maxDotEnvBytes bounds the size of a .env; finding the line of a mistake parses the file
// again.
const maxDotEnvBytes = 64 << 10

// DotEnvFiles returns the paths of the files read by [Load]: the .env of the working directory,
// empty if it does not count for the role or is the user's, and the user's, empty if unknown.
func DotEnvFiles(role Role) (here, users string, err error) {
	cwd, err := os.Getwd()
	if err != nil {
		return "", "", fmt.Errorf("find the working directory: %w", err)
	}
	here, users = dotEnvFiles(cwd, os.Getenv)
	if here == users || role != AsGateway && !OnRecord(cwd) {
		here = ""
	}
	return here, users, nil
}

// dotEnvFiles returns the paths of the .env files for a process with the given directory and
// environment; that of the user is empty if unknown.
func dotEnvFiles(cwd string, getenv func(string) string) (here, users string) {
	if dir := configDir(getenv("XDG_CONFIG_HOME"), getenv("HOME")); dir != "" {
		users = filepath.Join(dir, ".env")
	}
	return filepath.Join(cwd, ".env"), users
}

// readDotEnv is ReadDotEnv for a file whose problem is recorded.
func (p *problems) readDotEnv(file string) map[string]string {
	if file == "" {
		return nil
	}
	vars, err := ReadDotEnv(file)
	if err != nil {
		*p = append(*p, err)
	}
	return vars
}

// ReadDotEnv returns the variables of a file; a missing file has none. The error, a
// [*Problem], shows nothing of the content, unlike godotenv's own error, which quotes the
// file.
func ReadDotEnv(file string) (map[string]string, error) {
	data, err := readFile(file)
	if _, isProblem := errors.AsType[*Problem](err); isProblem {
		return nil, err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, &Problem{Source: file, Problem: fmt.Sprintf("it cannot be read: %v", reason(err))}
	}
	vars, err := godotenv.UnmarshalBytes(data)
	if err != nil {
		return nil, &Problem{
			Source:   file + ":" + strconv.Itoa(badDotEnvLine(data)),
			Problem:  "it cannot be understood, so nothing of this file was used",
			Accepted: `NAME=VALUE, NAME="VALUE" with its closing quote, or a # comment`,
		}
	}
	for name := range vars {
		if !isVariableName(name) {
			return nil, &Problem{Source: file, Problem: "it sets something that is not a variable name", Accepted: "lines of NAME=VALUE"}
		}
	}
	return vars, nil
}

// distrust returns the reason for ignoring a file; empty for a trusted file. A command may
// be called in any directory, such as /tmp. A .env in the directory decides which programs
// run as the user, and receives the token.
func distrust(info fs.FileInfo) string {
	switch uid := ownerOf(info); {
	case uid > 0 && uid != os.Getuid():
		return fmt.Sprintf("it belongs to another user (uid %d), who would decide what runs as this user", uid)
	case info.Mode().IsRegular() && info.Mode().Perm()&0o002 != 0:
		return "every user can write it, and so decide what runs as this user"
	}
	return ""
}

// readFile returns a file's text in the form required by godotenv.
func readFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if why := distrust(info); why != "" {
		return nil, &Problem{Source: file, Problem: why + ", so nothing of it was used", Accepted: "a file of yours, or of root, that others cannot write"}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxDotEnvBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxDotEnvBytes {
		return nil, fmt.Errorf("it is larger than %d bytes", maxDotEnvBytes)
	}
	return normal(data), nil
}

// badDotEnvLine returns the line, from 1, of the statement in data that godotenv cannot
// parse. The parser reads from the start, so the longest run of lines that parses ends just
// before the statement. A shorter run may end within a quoted value.
func badDotEnvLine(data []byte) int {
	lines := slices.Collect(bytes.Lines(data))
	for n := len(lines) - 1; n > 0; n-- {
		if _, err := godotenv.UnmarshalBytes(bytes.Join(lines[:n], nil)); err == nil {
			return n + 1
		}
	}
	return 1
}

// ParseDotEnv returns the variables set by the text of a .env, parsed as by [Load], and
// false for an invalid text.
func ParseDotEnv(text []byte) (vars map[string]string, ok bool) {
	vars, err := godotenv.UnmarshalBytes(normal(text))
	return vars, err == nil
}

// normal converts a text to Unix line ends and adds a final line end, without which godotenv
// takes a lone word for a value.
func normal(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // byte order mark of some editors
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	return append(text, '\n')
}
