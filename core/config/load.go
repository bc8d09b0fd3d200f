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
	var p problems
	cwd, err := os.Getwd()
	p.check("working directory", "", err)
	loadDotEnv(&p, dotEnvFiles(cwd)...)

	var env environment
	p.check("environment", "", envconfig.Process("", &env))
	// Only now: a .env may set HOME and the XDG directories.
	home, _ := os.UserHomeDir()
	m := machine{
		home:      home,
		cwd:       cwd,
		stateHome: os.Getenv("XDG_STATE_HOME"),
		runtime:   os.Getenv("XDG_RUNTIME_DIR"),
		uid:       os.Getuid(),
	}
	cfg := env.resolve(m, &p)
	cfg.Unknown = unknown(os.Environ())
	if err := p.err(); err != nil {
		return Config{}, err
	}
	return cfg, nil
}
