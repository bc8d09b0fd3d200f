package config

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// A Report is all there is to say of a configuration, also of one that is wrong.
type Report struct {
	Config   Config     // what a wrong variable sets is zero
	Problems []*Problem // none: Config is usable
	Files    []EnvFile  // the .env files in the order in which they win
}

// An EnvFile is a .env file as it was found.
type EnvFile struct {
	Path     string
	Found    bool
	Mode     fs.FileMode
	Owner    int      // its user's id; -1 if that is not known
	Distrust string   // why nothing of it is used, where strangers have it in their hands
	Secrets  []string // names of the variables in it that are to be kept from others
}

// Examine does what [Load] does, with the same effect on the environment, and tells
// what can be known even if something is wrong.
func Examine() Report {
	var r Report
	files, _ := DotEnvFiles()    // load reports the error
	for _, file := range files { // before one of them moves the next
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

// Wrong reports whether there is a problem with the variable.
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
		return f // Load says why
	}
	for name, value := range vars {
		if value != "" && isSecretName(name) {
			f.Secrets = append(f.Secrets, name)
		}
	}
	slices.Sort(f.Secrets)
	return f
}

// isSecretName reports whether a variable of that name usually holds what gives
// access to something.
func isSecretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"TOKEN", "KEY", "SECRET", "PASSWORD", "PASSPHRASE"}, func(word string) bool {
		return strings.HasSuffix(name, word)
	})
}
