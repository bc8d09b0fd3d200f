package service

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"howett.net/plist"
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

// readPlist returns the installed property list at path, empty if there is none.
func readPlist(path string) (p agentPlist) {
	if text, err := os.ReadFile(path); err == nil {
		_, _ = plist.Unmarshal(text, &p) // what cannot be understood differs from what would be installed
	}
	return p
}

// addPlist records a launchd job's working directory and environment.
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
