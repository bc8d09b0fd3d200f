package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
)

// Load reads .env in the working directory, then $XDG_CONFIG_HOME/bareclaw/.env
// (~/.config/bareclaw/.env without that variable), then the environment. A
// variable that is in the environment stays as it is, even when it is empty;
// of the two files the first wins. What the files set is put into the
// process's own environment, so that the tools of claude see it too: call
// Load before starting anything.
//
// The error joins a [*Problem] for everything that is wrong; the Config is
// then not usable. A missing .env is not an error.
func Load() (Config, error) {
	cfg, p := load()
	if err := p.err(); err != nil {
		return Config{}, err
	}
	return cfg, nil
}

// load is Load, with what could be understood and all that is wrong.
func load() (Config, problems) {
	var p problems
	cwd, err := os.Getwd()
	p.check("working directory", "", err)
	loadDotEnv(&p, dotEnvFiles(cwd, os.Getenv)...)

	texts, err := environment()
	p.check("environment", "", err)
	cfg, wrong := resolve(texts, machineAt(cwd)) // only now: a .env may set HOME and the XDG directories
	cfg.Unknown = unknown(os.Environ())
	return cfg, append(p, wrong...)
}

// Check returns what is wrong with a value of one variable, a [*Problem], nil if nothing
// is. Only [Load] checks variables together.
func Check(name, value string) error {
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	texts := map[string]string{"BARECLAW_HTTP_TOKEN": "any", "BARECLAW_ALLOWED_USERS": "1", name: value} // which others require
	_, p := resolve(texts, machineAt(cwd))
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
	m := machineAt("")
	state, err = m.stateDir()
	return state, cmp.Or(m.configDir, state), err
}
