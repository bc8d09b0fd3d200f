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
	maxText     = 4000      // bytes of the text, and of each string of the arguments
	maxName     = 200       // bytes of the name
	maxStrings  = 1000      // of the arguments
	maxRead     = 32 << 10  // bytes of all strings of the arguments
	maxCompared = 256 << 10 // bytes of the objects in lists of the arguments
	maxDepth    = 8         // of the arguments
	maxClauses  = 6
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

// contents are what a request says, by where it says so.
type contents struct {
	name part
	text part
	args part
}

// A part is what a name, a text or arguments say.
type part struct {
	clauses []words // each asks for something
	urls    set
	paths   set
	items   int // of the longest list of texts or objects
}

// contents reads the name, the text and the arguments of a request.
func (r Request) contents() *contents {
	c := &contents{
		name: newPart(),
		text: newPart(),
		args: walkOf(r.Args).found,
	}
	c.name.clauses = clausesOf(cut(r.Tool, maxName))
	c.text.addProse(cut(r.Text, maxText))
	return c
}

// all returns what all parts say.
func (c *contents) all() reading { return readingOf(c.name, c.text, c.args) }

// A reading is what parts of a request say.
type reading struct {
	clauses   []words // each asks for something; at most maxClauses
	all       words
	resources int // the number of URLs, of paths, or of items, whichever is the largest
}

// readingOf returns what some parts of a request say.
func readingOf(parts ...part) (found reading) {
	urls := set{}
	paths := set{}
	items := 0
	for _, p := range parts {
		found.clauses = append(found.clauses, p.clauses...)
		urls.addAll(p.urls)
		paths.addAll(p.paths)
		items = max(items, p.items)
	}
	for _, clause := range found.clauses {
		found.all = append(found.all, clause...)
	}
	found.clauses = found.clauses[:min(len(found.clauses), maxClauses)]
	found.resources = max(len(urls), len(paths), items)
	return found
}

func newPart() part {
	return part{
		urls:  set{},
		paths: set{},
	}
}

// addProse adds what a text in natural language asks for, and what it names.
func (p *part) addProse(text string) {
	prose := p.addResources(text)
	p.clauses = append(p.clauses, joined(clausesOf(prose))...)
}

// addResources adds the URLs and paths of a text, and returns what is left of the text without them.
func (p *part) addResources(text string) (rest string) {
	var fields []string
	for _, field := range strings.Fields(text) {
		word := strings.Trim(field, `"'()<>[],;:!?`+"`")
		word = strings.TrimSuffix(word, ".")
		switch {
		case strings.HasPrefix(word, "http://"), strings.HasPrefix(word, "https://"):
			p.urls.add(word)
		case isPath(word):
			p.paths.add(word)
		default:
			fields = append(fields, field)
			continue
		}
		if strings.HasSuffix(field, ".") || strings.HasSuffix(field, ",") {
			fields = append(fields, field[len(field)-1:]) // which ends a clause
		}
	}
	return strings.Join(fields, " ")
}

// A walk goes through arguments, within the bounds of what is read.
type walk struct {
	found    part
	strings  int // that were read
	bytes    int // of these strings
	compared int // bytes of objects in lists
}

// walkOf goes through arguments. Those that are no JSON say nothing.
func walkOf(args json.RawMessage) *walk {
	w := &walk{found: newPart()}
	var decoded any
	decoder := json.NewDecoder(bytes.NewReader(args))
	if decoder.Decode(&decoded) == nil {
		w.visit(decoded, 0)
	}
	return w
}

func (w *walk) visit(value any, depth int) {
	if depth > maxDepth || w.strings > maxStrings || w.bytes >= maxRead {
		return
	}
	switch value := value.(type) {
	case string:
		w.read(value)
	case []any:
		w.found.items = max(w.found.items, w.itemsOf(value))
		for _, one := range value {
			w.visit(one, depth+1)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			w.visit(value[key], depth+1)
		}
	}
}

// read reads a string, as far as there is room.
func (w *walk) read(s string) {
	s = cut(s, min(maxText, maxRead-w.bytes))
	w.strings++
	w.bytes += len(s)
	isOneWord := !strings.ContainsAny(s, " \n")
	if !isOneWord && len(wordsOf(s)) >= minProse {
		w.found.addProse(s)
	} else {
		w.found.addResources(s)
	}
}

// itemsOf returns the number of different texts and objects in a list, at most maxStrings. Objects beyond
// maxCompared are taken to be different.
func (w *walk) itemsOf(list []any) int {
	seen := map[string]bool{}
	uncompared := 0
	for _, one := range list {
		switch one := one.(type) {
		case string:
			seen[one] = true
		case map[string]any:
			if text, ok := w.textOf(one); ok {
				seen[text] = true
			} else {
				uncompared++
			}
		}
		if len(seen)+uncompared >= maxStrings {
			break
		}
	}
	return len(seen) + uncompared
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

// textOf returns an object as JSON; ok is false if there is no room.
func (w *walk) textOf(object map[string]any) (text string, ok bool) {
	if w.compared >= maxCompared {
		return "", false
	}
	b, err := json.Marshal(object)
	w.compared += len(b)
	return string(b), err == nil
}

// A set is different texts, at most maxStrings.
type set map[string]bool

func (s set) add(text string) {
	if len(s) < maxStrings {
		s[text] = true
	}
}

func (s set) addAll(other set) {
	for text := range other {
		s.add(text)
	}
}

func cut(s string, limit int) string { return strings.ToValidUTF8(s[:min(len(s), limit)], "") }
