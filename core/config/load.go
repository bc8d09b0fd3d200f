package config

import (
	"os"

	"github.com/kelseyhightower/envconfig"
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
	loadDotEnv(&p, dotEnvFiles(cwd)...)

	var env environment
	p.check("environment", "", envconfig.Process("", &env))
	cfg := env.resolve(machineAt(cwd), &p) // only now: a .env may set HOME and the XDG directories
	cfg.Unknown = unknown(os.Environ())
	return cfg, p
}
