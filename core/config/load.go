package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Load reads .env in the working directory, then $XDG_CONFIG_HOME/bareclaw/.env
// (~/.config/bareclaw/.env without XDG_CONFIG_HOME), then the environment. Variables already
// in the environment stay unchanged, even when empty; of the two files the first wins.
// Variables from the files are added to the process's own environment, for the tools of
// claude: call Load before starting anything.
//
// The error joins a [*Problem] for every mistake; the Config is then not usable. A missing
// .env is not an error.
func Load() (Config, error) {
	cfg, p := load()
	if err := p.err(); err != nil {
		return Config{}, err
	}
	return cfg, nil
}

// load is Load, returning the valid settings along with all problems.
func load() (Config, problems) {
	var p problems
	cwd, err := os.Getwd()
	p.check("working directory", "", err)
	vars := variablesOf(os.Environ())
	vars.addDotEnv(cwd, &p, os.Setenv)
	cfg, wrong := resolve(vars, machineAt(cwd, vars.get)) // after loading: a .env may set HOME and the XDG directories
	cfg.Unknown = unknown(os.Environ())
	return cfg, append(p, wrong...)
}

// StateDirOf returns the state directory that [Load] would find for a program started in dir
// with the variables of environ, in the form NAME=value. Without HOME or an XDG variable in
// environ, the variable of the current process applies. The error reports an invalid .env or
// path.
func StateDirOf(dir string, environ []string) (string, error) {
	vars := variablesOf(environ)
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		vars.add(name, os.Getenv(name))
	}
	var p problems
	vars.addDotEnv(dir, &p, func(string, string) error { return nil })
	m := machineAt(dir, vars.get)
	path, err := m.stateDir()
	if own := vars["BARECLAW_STATE_DIR"]; own != "" {
		path, err = m.path(own)
	}
	return path, errors.Join(p.err(), err)
}

// variables are the variables of an environment, by name.
type variables map[string]string

func variablesOf(environ []string) variables {
	vars := variables{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	return vars
}

func (v variables) get(name string) string { return v[name] }

// add sets a variable unless it is set already, and reports whether add did.
func (v variables) add(name, value string) bool {
	_, known := v[name]
	if !known {
		v[name] = value
	}
	return !known
}

// addDotEnv adds the variables of the .env files of a program started in dir, except
// variables already set, and calls set for each. An unusable file sets nothing.
func (v variables) addDotEnv(dir string, p *problems, set func(name, value string) error) {
	for _, file := range dotEnvFiles(dir, v.get) {
		vars, err := ReadDotEnv(file)
		if err != nil {
			*p = append(*p, err)
			continue
		}
		for name, value := range vars {
			if v.add(name, value) {
				p.check(file, "values without NUL bytes", set(name, value))
			}
		}
	}
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
