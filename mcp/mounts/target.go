package mounts

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"bareclaw/internal/mdtext"
)

const (
	// maxTarget bounds what a server is in short, in UTF-16 units.
	maxTarget = 80
	// maxPlain is the length of the longest part of a word with letters and digits that is not taken for a secret.
	maxPlain = 16
)

// Target returns what the server is, in short: the program, with the first of its arguments if that is the name of a
// package, a script or a command; or the scheme and host of the address, whose path may be secret. Variables stay names.
func (s *Server) Target() string {
	if s.URL == "" {
		return mdtext.Brief(strings.Join(append([]string{named(s.Command)}, s.subject()...), " "), maxTarget)
	}
	return mdtext.Brief(hostOf(named(s.URL)), maxTarget)
}

// named returns a text whose variables have no defaults: they may be secret.
func named(text string) string { return variable().ReplaceAllString(text, "$${$1}") }

// hostOf returns the scheme and host of an address.
func hostOf(address string) string {
	scheme, rest, known := strings.Cut(address, "://")
	if !known { // a variable has it
		return variable().FindString(address)
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return scheme + "://" + rest[strings.LastIndex(rest, "@")+1:]
}

// switches are flags without a value, which stand before the name of a package or a script.
var switches = []string{"-y", "--yes", "-q", "--quiet", "-u", "-i", "-m"}

// subject returns the argument that tells servers with the same program apart; none if it may be something else, such as
// the value of a flag.
func (s *Server) subject() []string {
	for _, arg := range s.Args {
		switch {
		case slices.Contains(switches, arg):
			continue
		case isPlainName(arg):
			return []string{arg}
		}
		return nil
	}
	return nil
}

var plainForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9@/~.][A-Za-z0-9@/~._+-]*$`) })

// isPlainName reports whether a word is the name of a package, a script or a command. What is like a key is none, nor is
// what may have a password, such as the address of a database.
func isPlainName(word string) bool {
	if !plainForm().MatchString(word) {
		return false
	}
	parts := strings.FieldsFunc(word, func(c rune) bool { return strings.ContainsRune("@/~._+-", c) })
	return !slices.ContainsFunc(parts, func(part string) bool {
		return len(part) > maxPlain && strings.ContainsFunc(part, unicode.IsDigit)
	})
}
