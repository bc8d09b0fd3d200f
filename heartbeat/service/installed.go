package service

import (
	"os"
	"slices"
	"strings"

	"howett.net/plist"
)

// addUnit records a job's working directory and environment from the properties p that
// systemd has loaded, since the user may have edited the installed unit.
func (s *Status) addUnit(p map[string]any) {
	s.Dir = text(p, "WorkingDirectory")
	s.Environ, _ = p["Environment"].([]string)
	files, _ := p["EnvironmentFiles"].([][]any) // each entry holds a glob pattern and whether the file may be missing
	for _, f := range files {
		pattern, _ := f[0].(string)
		if b, err := os.ReadFile(unescape(pattern, `\*?[]`)); err == nil {
			s.Environ = append(s.Environ, envOf(string(b))...)
		}
	}
}

// addPlist records a launchd job's working directory and environment from the plist at
// path.
func (s *Status) addPlist(path string) {
	var p agentPlist
	text, err := os.ReadFile(path)
	if err == nil {
		_, err = plist.Unmarshal(text, &p)
	}
	if err != nil {
		return
	}
	s.Dir = p.WorkingDirectory
	for name, value := range p.EnvironmentVariables {
		s.Environ = append(s.Environ, name+"="+value)
	}
	slices.Sort(s.Environ)
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
