package service

import (
	"os"
	"slices"
	"strings"

	"howett.net/plist"
)

// addUnit notes where systemd has a job work, and with which settings, as it has read that
// itself: somebody may have changed what was installed.
func (s *Status) addUnit(p map[string]any) {
	s.Dir = text(p, "WorkingDirectory")
	s.Environ, _ = p["Environment"].([]string)
	files, _ := p["EnvironmentFiles"].([][]any) // a pattern, and whether it may be missing
	for _, f := range files {
		pattern, _ := f[0].(string)
		if b, err := os.ReadFile(unescape(pattern, `\*?[]`)); err == nil {
			s.Environ = append(s.Environ, envOf(string(b))...)
		}
	}
}

// addPlist notes the same of a job of launchd.
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

// envOf returns the variables, NAME=value, of a file for EnvironmentFile=, as envText
// writes it, or a person who quotes nothing. Other lines it passes over.
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

// unescape takes away the backslashes before these characters.
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
