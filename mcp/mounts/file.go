// Package mounts has the tools of other people's MCP servers. A file says which servers there are.
package mounts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core/tools"
	"bareclaw/internal/atomicfile"
	"bareclaw/internal/mdtext"
)

// FileName is the name of the file, in the directory of the user's settings.
const FileName = "mcp.json"

// maxFile bounds the file, in bytes.
const maxFile = 1 << 20

// The members of the file that the gateway reads.
const (
	memberServers = "mcpServers"
	memberBags    = "bags"
)

// A File is the contents of a file of servers. Members that the gateway does not know are kept, since
// other programs read such files too.
type File struct {
	members map[string]jsontext.Value
	servers map[string]jsontext.Value
	bags    map[string][]string
	badBags []string // why others are left out, in sentences
}

// Read returns the contents of a file; an empty File if there is none. The error names the place of what
// cannot be read, and contains no value.
func Read(path string) (*File, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Parse(nil)
	case err != nil:
		return nil, err
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Parse returns the contents of a text; an empty File for an empty text.
func Parse(text []byte) (*File, error) {
	f := &File{
		members: map[string]jsontext.Value{},
		servers: map[string]jsontext.Value{},
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return f, nil
	}
	if err := jsonv2.Unmarshal(text, &f.members); err != nil {
		return nil, placeOf(text, err)
	}
	if servers, ok := f.members[memberServers]; ok {
		if err := jsonv2.Unmarshal(servers, &f.servers); err != nil {
			return nil, fmt.Errorf("%q must be an object with a server for each name", memberServers)
		}
	}
	if bags, ok := f.members[memberBags]; ok {
		if err := f.readBags(bags); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// maxWhy bounds why a bag is left out, in UTF-16 units.
const maxWhy = 300

// readBags reads the bags. One that is none is left out.
func (f *File) readBags(text jsontext.Value) error {
	var bags map[string]jsontext.Value
	if err := jsonv2.Unmarshal(text, &bags); err != nil {
		return fmt.Errorf("%q must be an object with a list of patterns for each name", memberBags)
	}
	f.bags = map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(bags)) {
		var patterns []string
		if err := jsonv2.Unmarshal(bags[name], &patterns); err != nil {
			f.badBags = append(f.badBags, fmt.Sprintf("The bag %q is left out: it must be a list of patterns", mdtext.Brief(name, maxMember)))
			continue
		}
		if err := tools.CheckBag(name, patterns); err != nil {
			f.badBags = append(f.badBags, "A bag is left out: "+mdtext.Brief(err.Error(), maxWhy))
			continue
		}
		f.bags[name] = patterns
	}
	return nil
}

// Bags returns the patterns of tools' names that the file puts in bags, by the names of the bags. The caller must
// not change them.
func (f *File) Bags() map[string][]string { return f.bags }

// placeOf returns an error that says in which line a text is no JSON object.
func placeOf(text []byte, err error) error {
	offset := int64(0)
	syntax := (*jsontext.SyntacticError)(nil)
	semantic := (*jsonv2.SemanticError)(nil)
	what := "it is not a JSON object"
	switch {
	case errors.As(err, &syntax):
		offset = syntax.ByteOffset
		what = "it is not JSON"
		if errors.Is(err, jsontext.ErrDuplicateName) {
			what = "an object has two members of one name"
		}
	case errors.As(err, &semantic):
		offset = semantic.ByteOffset
	}
	line := 1 + bytes.Count(text[:min(int(offset), len(text))], []byte("\n"))
	return fmt.Errorf("line %d: %s", line, what)
}

// Names returns the names of the servers, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.servers)) }

// Server returns the server with a name. The error says what is wrong with its description, and contains no
// value of env or headers; it is fs.ErrNotExist if there is none.
func (f *File) Server(name string) (Server, error) {
	text, ok := f.servers[name]
	if !ok {
		return Server{}, fmt.Errorf("there is no server %q: %w", name, fs.ErrNotExist)
	}
	s := Server{Name: name}
	if err := jsonv2.Unmarshal(text, &s); err != nil {
		return Server{}, fmt.Errorf("server %q: %w", name, memberOf(err))
	}
	if err := s.check(); err != nil {
		return Server{}, fmt.Errorf("server %q: %w%s", name, err, appended(misspelt(text, knownMembers())))
	}
	return s, nil
}

// appended returns sentences as the end of another one.
func appended(sentences []string) string {
	if len(sentences) == 0 {
		return ""
	}
	return "; " + strings.Join(sentences, "; ")
}

// A valueError says what is wrong with a value, without the value.
type valueError struct{ text string }

func (e *valueError) Error() string { return e.text }

// Put adds a server, or replaces the one of its name.
func (f *File) Put(s Server) error {
	if err := s.check(); err != nil {
		return fmt.Errorf("server %q: %w", s.Name, err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode server %q: %w", s.Name, err)
	}
	f.servers[s.Name] = text
	return nil
}

// Remove removes the server with a name, and reports whether there was one.
func (f *File) Remove(name string) bool {
	_, known := f.servers[name]
	delete(f.servers, name)
	return known
}

// Write writes the file, which its owner alone may read: env and headers have secrets.
func (f *File) Write(path string) error {
	servers, err := jsonv2.Marshal(f.servers, jsonv2.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	all := maps.Clone(f.members)
	all[memberServers] = servers
	text, err := jsonv2.Marshal(all, jsonv2.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	if err := atomicfile.Write(path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// maxName is the length of the longest name of a server, in bytes: it begins the names of the tools.
const maxName = 32

var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`) })

// IsName reports whether a server may have the name.
func IsName(name string) bool { return len(name) <= maxName && nameForm().MatchString(name) }
