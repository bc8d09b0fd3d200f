package service

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"howett.net/plist"

	"bareclaw/internal/atomicfile"
)

// addUnit records a job's working directory and environment from the service unit p that
// systemd has loaded, since the user may have edited the installed unit.
func (s *Status) addUnit(p unit) {
	s.Dir = p.text("WorkingDirectory")
	s.Environ, _ = p["Environment"].([]string)
	files, _ := p["EnvironmentFiles"].([][]any) // each entry holds a glob pattern and whether the file may be missing
	for _, f := range files {
		pattern, _ := f[0].(string)
		vars, _ := readEnv(unescape(pattern, `\*?[]`)) // a file that cannot be read sets nothing
		s.Environ = append(s.Environ, vars...)
	}
}

func readPlist(path string) (p agentPlist) {
	if text, err := os.ReadFile(path); err == nil {
		_, _ = plist.Unmarshal(text, &p) // what cannot be understood differs from what would be installed
	}
	return p
}

func (s *Status) addPlist(p agentPlist) {
	s.Dir = p.WorkingDirectory
	for name, value := range p.EnvironmentVariables { // of a plist that a person wrote, or an older version
		s.Environ = append(s.Environ, name+"="+value)
	}
	vars, _ := readEnv(p.EnvironmentVariables[envVariable]) // a file that cannot be read sets nothing
	s.Environ = append(s.Environ, vars...)
}

// envVariable names the environment file of a job of launchd, which has no EnvironmentFile=
// of its own.
const envVariable = "BARECLAW_SERVICE_ENV"

// LoadEnv adds the variables of the environment file that launchd's job names to the
// environment of this process, as systemd does for its jobs. Children of the process do not
// learn the name of the file. LoadEnv does nothing in a process without such a file.
func LoadEnv() error {
	path := os.Getenv(envVariable)
	if path == "" {
		return nil
	}
	vars, err := readEnv(path)
	if err = errors.Join(err, os.Unsetenv(envVariable)); err != nil {
		return fmt.Errorf("read the settings of the service: %w", err)
	}
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return nil
}

func readEnv(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	return envOf(string(b)), err
}

// envOf parses the text of an EnvironmentFile= and returns the variables as NAME=value.
// envOf accepts the quoting of envText and unquoted values written by hand, and skips
// all remaining lines.
func envOf(text string) (vars []string) {
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		name, value, ok := strings.Cut(text, "=")
		if !ok || !isName(name) {
			text = rest
			continue
		}
		if !strings.HasPrefix(value, `"`) {
			vars, text = append(vars, strings.TrimSpace(line)), rest
			continue
		}
		end := 1
		for end < len(value) && value[end] != '"' {
			if value[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(value))
		vars = append(vars, name+"="+unescape(value[1:end], "\\\"$`"))
		_, text, _ = strings.Cut(value[end:], "\n")
	}
	return vars
}

// unescape removes each backslash before a character of special.
func unescape(s, special string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(special, s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// envText formats variables, NAME=value, as a file for EnvironmentFile=. In double
// quotes only the four escaped characters are special, and a value may span lines.
func envText(vars []string) string {
	escaper := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`")
	var b strings.Builder
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		b.WriteString(name + `="` + escaper.Replace(value) + "\"\n")
	}
	return b.String()
}

// place writes files atomically unless content and mode already match. It returns a line
// for each file, and the names of the written files.
func place(files []File) (did, written []string, err error) {
	for _, f := range files {
		have, err := os.ReadFile(f.Path)
		if err == nil && bytes.Equal(have, []byte(f.Text)) {
			if info, err := os.Stat(f.Path); err == nil && info.Mode().Perm() == f.Mode {
				did = append(did, "unchanged "+f.Path)
				continue
			}
		}
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil { //nolint:gosec // of a service manager, as it makes it
			return did, written, fmt.Errorf("make room for %s: %w", f.Path, err)
		}
		if err := atomicfile.Write(f.Path, []byte(f.Text), f.Mode); err != nil {
			return did, written, fmt.Errorf("write %s: %w", f.Path, err)
		}
		did, written = append(did, "wrote "+f.Path), append(written, filepath.Base(f.Path))
	}
	return did, written, nil
}

// outdated lists the installed files of a job that differ from the files for spec, empty if
// none does. The environment file must only exist for the user alone.
func (d Dirs) outdated(system System, job Job, spec Spec) string {
	files, err := Files(system, job, spec, d)
	if err != nil {
		return err.Error()
	}
	var differ []string
	for _, f := range files {
		if f.Path == d.envPath(job) {
			if info, err := os.Stat(f.Path); err != nil || info.Mode().Perm()&0o077 != 0 {
				differ = append(differ, f.Path+" (it must be there, and for you alone)")
			}
		} else if have, _ := os.ReadFile(f.Path); string(have) != f.Text { // a file that cannot be read differs
			differ = append(differ, f.Path)
		}
	}
	return strings.Join(differ, ", ")
}

// remove deletes the files that are there, and their directories if these are named bareclaw
// and empty. It returns a line for each file.
func remove(paths ...string) (did []string, err error) {
	for _, path := range paths {
		switch err := os.Remove(path); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return did, fmt.Errorf("remove what was installed: %w", err)
		default:
			did = append(did, "removed "+path)
		}
		if dir := filepath.Dir(path); filepath.Base(dir) == "bareclaw" {
			_ = os.Remove(dir) // fails while the directory has entries
		}
	}
	return did, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
