package config

import (
	"os"
	"strings"
)

// StateDirOf returns the state directory that [Load] would find for a program started in dir
// with the variables of environ, in the form NAME=value. Without HOME or an XDG variable in
// environ, the variable of the current process applies. The error reports an invalid .env or
// path.
func StateDirOf(dir string, environ []string) (string, error) {
	vars := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	add := func(name, value string) {
		if _, ok := vars[name]; !ok {
			vars[name] = value
		}
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		add(name, os.Getenv(name))
	}
	getenv := func(name string) string { return vars[name] }
	for _, file := range dotEnvFiles(dir, getenv) {
		more, err := ReadDotEnv(file)
		if err != nil {
			return "", err
		}
		for name, value := range more {
			add(name, value)
		}
	}
	m := machineAt(dir, getenv)
	if path := vars["BARECLAW_STATE_DIR"]; path != "" {
		return m.path(path)
	}
	return m.stateDir()
}
