package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bareclaw/internal/typo"
)

// A Report describes a configuration, valid or not.
type Report struct {
	Config   Config     // settings with a problem are zero
	Problems []*Problem // empty: Config is usable
	Files    []EnvFile  // the .env files in order of precedence
	Unread   string     // path of a .env in the working directory that does not count; empty if there is none
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
func Examine(role Role) Report {
	var r Report
	cfg, p := load(role)
	here, users, _ := DotEnvFiles(role) // load has reported the error
	for _, file := range []string{here, users} {
		if file != "" {
			r.Files = append(r.Files, lookAt(file))
		}
	}
	if file, err := filepath.Abs(".env"); err == nil && here == "" && file != users && lookAt(file).Found {
		r.Unread = file
	}
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
	f.Found, f.Mode, f.Owner, f.Distrust = true, info.Mode().Perm(), ownerOf(info), distrust(info)
	vars, err := ReadDotEnv(path)
	if err != nil {
		return f // Load reports the reason
	}
	for name, value := range vars {
		if value != "" && IsSecretName(name) {
			f.Secrets = append(f.Secrets, name)
		}
	}
	slices.Sort(f.Secrets)
	return f
}

// IsSecretName reports whether a variable with the name usually holds a credential.
func IsSecretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"TOKEN", "KEY", "SECRET", "PASSWORD", "PASSPHRASE"}, func(word string) bool {
		return strings.HasSuffix(name, word)
	})
}

// A Problem is a mistake in the configuration. The error of [Load] joins all problems; each
// can be found with errors.As.
type Problem struct {
	Source   string // the variable's name, or the file's path and line
	Problem  string // the mistake; never holds a secret
	Accepted string // valid values; may be empty
}

// Error describes the problem in a line, for the person who set the variable.
func (p *Problem) Error() string {
	if p.Accepted == "" {
		return p.Source + ": " + p.Problem
	}
	return p.Source + ": " + p.Problem + "; accepted: " + p.Accepted
}

// problems collects mistakes in the order of discovery.
type problems []error

func (p *problems) add(source, accepted, format string, args ...any) {
	*p = append(*p, &Problem{Source: source, Problem: fmt.Sprintf(format, args...), Accepted: accepted})
}

// check records err, if not nil, against a variable.
func (p *problems) check(source, accepted string, err error) {
	if err != nil {
		p.add(source, accepted, "%v", err)
	}
}

func (p problems) err() error { return errors.Join(p...) }

// shownBytes bounds the part of a bad value repeated in an error.
const shownBytes = 60

// quoted formats an outside value for an error: on a single line, escaped and short.
func quoted(value string) string {
	if len(value) > shownBytes {
		return strconv.Quote(value[:shownBytes]) + "…"
	}
	return strconv.Quote(value)
}

const prefix = "BARECLAW_"

// idleVariable is the setting with a name of others, by which they know it.
const idleVariable = "DOCTOR_IGOR_IDLE_TIMEOUT"

// IsSetting reports whether the name of a variable is one for the gateway's settings, also if this
// program knows no such setting.
func IsSetting(name string) bool { return strings.HasPrefix(name, prefix) || name == idleVariable }

// unknown describes, in a sentence each, the BARECLAW_ names among environ's NAME=VALUE
// entries, except known variables, variables set by the gateway and variables for the
// project's own tests.
func unknown(environ []string) (out []string) {
	var known []string
	for _, v := range Variables() {
		known = append(known, v.Name)
	}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !IsSetting(name) || slices.Contains(known, name) || isGiven(name) ||
			strings.HasPrefix(name, prefix+"TEST_") || strings.HasPrefix(name, prefix+"REQUIRE_") {
			continue
		}
		text := name + " is set, but there is no such variable"
		if nearest := typo.Nearest(name, known); nearest != "" {
			text += "; did you mean " + nearest + "?"
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

// isGiven reports whether the gateway sets the variable for claude's tools.
func isGiven(name string) bool { return name == prefix+"SOCKET" || name == prefix+"SESSION" }
