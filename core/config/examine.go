package config

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// A Report describes a configuration, valid or not.
type Report struct {
	Config   Config     // settings with a problem are zero
	Problems []*Problem // empty: Config is usable
	Files    []EnvFile  // the .env files in order of precedence
}

// An EnvFile describes a .env file as found.
type EnvFile struct {
	Path     string
	Found    bool
	Mode     fs.FileMode
	Owner    int      // user id of the owner; -1 if unknown
	Distrust string   // reason for ignoring the file because strangers control the content; empty if trusted
	Secrets  []string // names of the file's secret variables
}

// Examine does the work of [Load], with the same effect on the environment, and reports
// everything known even about an invalid configuration.
func Examine() Report {
	var r Report
	files, _ := DotEnvFiles()    // load reports the error
	for _, file := range files { // before loading a file can change the next file's path
		r.Files = append(r.Files, lookAt(file))
	}
	cfg, p := load()
	r.Config = cfg
	for _, err := range p {
		if problem, ok := errors.AsType[*Problem](err); ok {
			r.Problems = append(r.Problems, problem)
		}
	}
	return r
}

// Wrong reports whether the variable has a problem.
func (r Report) Wrong(name string) bool {
	return slices.ContainsFunc(r.Problems, func(p *Problem) bool { return p.Source == name })
}

func lookAt(path string) EnvFile {
	f := EnvFile{Path: path, Owner: -1}
	info, err := os.Stat(path)
	if err != nil {
		return f
	}
	f.Found, f.Mode, f.Distrust = true, info.Mode().Perm(), distrust(info)
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		f.Owner = int(stat.Uid)
	}
	vars, err := ReadDotEnv(path)
	if err != nil {
		return f // Load reports the reason
	}
	for name, value := range vars {
		if value != "" && isSecretName(name) {
			f.Secrets = append(f.Secrets, name)
		}
	}
	slices.Sort(f.Secrets)
	return f
}

// isSecretName reports whether a variable with the name usually holds a credential.
func isSecretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"TOKEN", "KEY", "SECRET", "PASSWORD", "PASSPHRASE"}, func(word string) bool {
		return strings.HasSuffix(name, word)
	})
}
