// Package toolset holds which of the gateway's tools a session may use: all, none, or those with
// certain names; and how claude names the tools.
package toolset

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Set is a set of tools in the form that people write: All, None, or names with commas between
// them. The zero value is no choice, and has no tools.
type Set string

// The sets without names.
const (
	All  Set = "all"
	None Set = "none"
)

// Server is the name of the gateway's MCP server.
const Server = "bareclaw"

// Prefix begins the names of the gateway's tools in claude, which calls the tools of an MCP server
// mcp__SERVER__TOOL.
const Prefix = "mcp__" + Server + "__"

// maxPrefixed is the length of the longest name in claude, in bytes: claude drops tools with a
// longer one.
const maxPrefixed = 128

// MaxName is the length of the longest name of a tool, in bytes.
const MaxName = maxPrefixed - len(Prefix)

var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]+$`) })

// IsName reports whether a tool may have the name.
func IsName(name string) bool { return len(name) <= MaxName && nameForm().MatchString(name) }

// maxSet bounds a set, in bytes: more than all names together that anybody has.
const maxSet = 64 << 10

// Parse reads a set as people write it. An empty text is no choice.
func Parse(text string) (Set, error) {
	if strings.TrimSpace(text) == "" {
		return "", nil
	}
	if len(text) > maxSet {
		return "", fmt.Errorf("the list of tools has more than %d bytes", maxSet)
	}
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if !IsName(name) {
			return "", fmt.Errorf("%.60q is not the name of a tool: 1 to %d letters, digits and _ . -", name, MaxName)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 1 && (slices.Contains(names, string(All)) || slices.Contains(names, string(None))) {
		return "", fmt.Errorf("%.60q: all and none stand alone, without names", text)
	}
	return Set(strings.Join(names, ",")), nil
}

// Decode reads a set as people write it.
func (s *Set) Decode(text string) (err error) {
	*s, err = Parse(text)
	return err
}

// Accepted describes the texts of sets.
func (*Set) Accepted() string {
	return "all, none or a comma-separated list of names, as channel_list,json_format"
}

// Names returns the names that the set has; none for All and None.
func (s Set) Names() iter.Seq[string] {
	if s == "" || s == All || s == None {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(string(s), ",")
}

// Has reports whether the set has the tool.
func (s Set) Has(name string) bool {
	if s == All {
		return true
	}
	for n := range s.Names() {
		if n == name {
			return true
		}
	}
	return false
}
