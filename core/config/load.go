package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
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
	loadDotEnv(&p, dotEnvFiles(cwd, os.Getenv)...)

	texts := map[string]string{}
	for _, v := range Variables() {
		texts[v.Name] = os.Getenv(v.Name)
	}
	cfg, wrong := resolve(texts, machineAt(cwd, os.Getenv)) // after loading: a .env may set HOME and the XDG directories
	cfg.Unknown = unknown(os.Environ())
	return cfg, append(p, wrong...)
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
