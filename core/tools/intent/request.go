package intent

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"bareclaw/internal/toolset"
)

// Bounds of what is read of a request.
const (
	maxText    = 4000 // bytes of the text, and of each string of the arguments
	maxName    = 200  // bytes of the name
	maxStrings = 1000 // of the arguments
	maxDepth   = 8    // of the arguments
	maxClauses = 6
)

// minProse is the least number of words in a string of the arguments that reads as natural language.
const minProse = 4

// A Request is what somebody wants to do: to call a tool, which there may be, something in words, or both.
type Request struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"` // an object; empty: not known yet
	Text string          `json:"text"`
}

// errEmpty refuses a request that says nothing.
var errEmpty = errors.New("say what is wanted: give tool, text, or both")

// normal returns the request in the form in which equal requests are the same.
func (r Request) normal() (Request, error) {
	r.Tool = strings.TrimPrefix(strings.TrimSpace(r.Tool), toolset.Prefix)
	r.Text = strings.TrimSpace(r.Text)
	if r.Tool == "" && r.Text == "" {
		return r, errEmpty
	}
	return r, nil
}

// A reading is what a request says.
type reading struct {
	clauses   []words // each asks for something; at most maxClauses
	all       words
	resources int // the number of URLs, of paths, or of items, whichever is the largest
}

// read reads the name, the text and the arguments of a request.
func (r Request) read() reading {
	values := valuesOf(r.Args)
	texts := append([]string{cut(r.Text, maxText)}, values.prose...)
	var found reading
	found.clauses = clausesOf(cut(r.Tool, maxName))
	urls := values.urls
	paths := values.paths
	for _, text := range texts {
		prose, inText := resourcesIn(text)
		urls = union(urls, inText.urls)
		paths = union(paths, inText.paths)
		found.clauses = append(found.clauses, joined(clausesOf(prose))...)
	}
	for _, clause := range found.clauses {
		found.all = append(found.all, clause...)
	}
	found.clauses = found.clauses[:min(len(found.clauses), maxClauses)]
	found.resources = max(len(urls), len(paths), values.items)
	return found
}

// values are what arguments say.
type values struct {
	prose       []string // strings that read as natural language
	urls, paths []string
	items       int // of the longest list of texts or objects

	strings int // that were read
}

// valuesOf reads arguments. Those that are no JSON say nothing.
func valuesOf(args json.RawMessage) (v values) {
	var decoded any
	decoder := json.NewDecoder(bytes.NewReader(args))
	if decoder.Decode(&decoded) != nil {
		return v
	}
	v.walk(decoded, 0)
	return v
}

func (v *values) walk(value any, depth int) {
	if depth > maxDepth || v.strings > maxStrings {
		return
	}
	switch value := value.(type) {
	case string:
		v.strings++
		v.add(cut(value, maxText))
	case []any:
		v.items = max(v.items, itemsOf(value))
		for _, one := range value {
			v.walk(one, depth+1)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			v.walk(value[key], depth+1)
		}
	}
}

// add adds a string.
func (v *values) add(s string) {
	_, found := resourcesIn(s)
	isWhole := !strings.ContainsAny(s, " \n")
	switch {
	case len(wordsOf(s)) >= minProse && !isWhole:
		v.prose = append(v.prose, s) // whose resources are those of the text
	default:
		v.urls = union(v.urls, found.urls)
		v.paths = union(v.paths, found.paths)
	}
}

// itemsOf returns the number of different texts and objects in a list.
func itemsOf(list []any) int {
	seen := map[string]bool{}
	for _, one := range list {
		switch one := one.(type) {
		case string:
			seen[one] = true
		case map[string]any:
			b, err := json.Marshal(one)
			if err == nil {
				seen[string(b)] = true
			}
		}
		if len(seen) >= maxStrings {
			break
		}
	}
	return len(seen)
}

// resources are what a text names.
type resources struct{ urls, paths []string }

// resourcesIn returns the URLs and paths of a text, and what is left of the text without them.
func resourcesIn(text string) (prose string, found resources) {
	var rest []string
	for _, field := range strings.Fields(text) {
		word := strings.Trim(field, `"'()<>[],;:!?`+"`")
		word = strings.TrimSuffix(word, ".")
		switch {
		case strings.HasPrefix(word, "http://"), strings.HasPrefix(word, "https://"):
			found.urls = union(found.urls, []string{word})
		case isPath(word):
			found.paths = union(found.paths, []string{word})
		default:
			rest = append(rest, field)
			continue
		}
		if strings.HasSuffix(field, ".") || strings.HasSuffix(field, ",") {
			rest = append(rest, field[len(field)-1:]) // which ends a clause
		}
	}
	return strings.Join(rest, " "), found
}

// isPath reports whether a word is the path of a file.
func isPath(word string) bool {
	for _, beginning := range []string{"/", "./", "../", "~/"} {
		if after, ok := strings.CutPrefix(word, beginning); ok && after != "" && !strings.HasPrefix(after, "/") {
			return true
		}
	}
	return false
}

// union returns the texts of a list, and those of another one that it does not have; at most maxStrings.
func union(list, more []string) []string {
	for _, one := range more {
		if len(list) < maxStrings && !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}

func cut(s string, limit int) string { return strings.ToValidUTF8(s[:min(len(s), limit)], "") }
