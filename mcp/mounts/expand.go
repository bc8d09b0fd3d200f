package mounts

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var variable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)
})

// A MissingError says that the description of a server names variables that are unset.
type MissingError struct {
	Server    string
	Variables []string
}

// lacks is in the text of a MissingError.
const lacks = "needs variables that the gateway does not have: "

// Error implements error.
func (e *MissingError) Error() string {
	return fmt.Sprintf("server %q ", e.Server) + lacks + strings.Join(e.Variables, ", ")
}

// IsMissing reports whether the problem in a Status is a MissingError.
func IsMissing(problem string) bool { return strings.Contains(problem, lacks) }

// Expanded returns the server with the values of variables in place of ${NAME} and ${NAME:-default}, as other
// clients do. The error is a *MissingError if a variable is unset and has no default.
func (s *Server) Expanded(lookup func(name string) (value string, ok bool)) (Server, error) {
	var missing []string
	expand := func(text string) string {
		return variable().ReplaceAllStringFunc(text, func(found string) string {
			match := variable().FindStringSubmatch(found)
			value, ok := lookup(match[1])
			switch {
			case ok && value != "":
				return value
			case match[2] != "":
				return match[3]
			case !ok && !slices.Contains(missing, match[1]):
				missing = append(missing, match[1])
			}
			return value
		})
	}
	all := func(of map[string]string) map[string]string {
		expanded := make(map[string]string, len(of))
		for _, name := range slices.Sorted(maps.Keys(of)) {
			expanded[name] = expand(of[name])
		}
		return expanded
	}
	e := *s
	e.Command = expand(s.Command)
	e.CWD = expand(s.CWD)
	e.URL = expand(s.URL)
	e.Env = all(s.Env)
	e.Headers = all(s.Headers)
	e.Args = make([]string, len(s.Args))
	for i, arg := range s.Args {
		e.Args[i] = expand(arg)
	}
	if len(missing) > 0 {
		return Server{}, &MissingError{Server: s.Name, Variables: missing}
	}
	if err := e.check(); err != nil {
		return Server{}, fmt.Errorf("server %q: %w", s.Name, err)
	}
	return e, nil
}
