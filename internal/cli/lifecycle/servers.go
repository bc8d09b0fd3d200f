package lifecycle

import (
	"maps"
	"slices"
	"strings"

	"bareclaw/core/config"
	"bareclaw/internal/shellquote"
	"bareclaw/mcp/mounts"
)

// serversIn lists the mounted servers that a file describes, without values that may be secret.
func serversIn(path string) (rows []string) {
	file, err := mounts.Read(path)
	if err != nil {
		return []string{"the file cannot be read here: " + err.Error()}
	}
	for _, name := range file.Names() {
		server, err := file.Server(name)
		if err != nil {
			rows = append(rows, err.Error())
			continue
		}
		for _, fact := range factsOf(&server) {
			rows = append(rows, name+": "+fact)
		}
	}
	return rows
}

// factsOf returns what a server runs or reaches, which of its tools run unasked, and what it is given.
func factsOf(s *mounts.Server) []string {
	runs := s.Target()
	if s.URL == "" {
		runs = commandLine(s)
	}
	facts := []string{runs, "runs unasked: " + unasked(s)}
	if s.CWD != "" {
		facts = append(facts, "in the directory "+s.CWD)
	}
	if names := slices.Sorted(maps.Keys(s.Env)); len(names) > 0 {
		facts = append(facts, "with the variables "+strings.Join(names, ", "))
	}
	if names := slices.Sorted(maps.Keys(s.Headers)); len(names) > 0 {
		facts = append(facts, "with the headers "+strings.Join(names, ", "))
	}
	if s.Disabled {
		facts = append(facts, "disabled")
	}
	return facts
}

// unasked returns the patterns of the tools that run without a person's word.
func unasked(s *mounts.Server) string {
	switch {
	case s.Allow == nil:
		return mounts.AllowReadOnly
	case len(s.Allow) == 0:
		return "nothing"
	}
	return strings.Join(s.Allow, ", ")
}

// hiddenValue stands for a value that may be secret.
const hiddenValue = "***"

// commandLine returns the program with its arguments, without those that their flags call secret.
func commandLine(s *mounts.Server) string {
	words := []string{shellquote.Word(s.Command)}
	isSecret := false // by the flag before it
	for _, arg := range s.Args {
		flag, value, hasValue := strings.Cut(arg, "=")
		isFlag := strings.HasPrefix(arg, "-")
		hasSecretName := config.IsSecretName(strings.TrimLeft(flag, "-"))
		switch {
		case isSecret && !isFlag:
			words = append(words, hiddenValue)
		case hasValue && value != "" && hasSecretName: // --api-key=VALUE, or API_KEY=VALUE
			words = append(words, shellquote.Word(flag+"=")+hiddenValue)
		default:
			words = append(words, shellquote.Word(arg))
		}
		isSecret = isFlag && !hasValue && hasSecretName
	}
	return strings.Join(words, " ")
}
