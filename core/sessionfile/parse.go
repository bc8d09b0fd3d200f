package sessionfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"bareclaw/core"
	"bareclaw/internal/humanize"

	"github.com/google/uuid"
)

// maxProblems is how many problems of a file are reported.
const maxProblems = 10

// format returns the contents of the file: an object sorted by channel, with two
// spaces of indentation and a newline at the end.
func format(ids map[core.ChannelKey]string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(ids); err != nil {
		panic(err) // strings only: it cannot fail
	}
	return b.Bytes()
}

// parse reads contents and describes problems. Every entry that is valid by itself is
// kept; of two contradicting entries the earlier is kept.
func parse(b []byte) (ids map[core.ChannelKey]string, problems []string) {
	p := parser{ids: map[core.ChannelKey]string{}, owners: map[string]string{}}
	if err := p.object(json.NewDecoder(bytes.NewReader(b))); err != nil {
		p.note("%v", err)
	}
	if more := len(p.problems) - maxProblems; more > 0 {
		p.problems = append(p.problems[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return p.ids, p.problems
}

type parser struct {
	ids      map[core.ChannelKey]string
	owners   map[string]string // session id in lower case → channel
	problems []string
}

func (p *parser) note(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// object reads the JSON object. At a syntax error the entries before the error are kept.
func (p *parser) object(d *json.Decoder) error {
	switch t, err := d.Token(); {
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	case err != nil:
		return fmt.Errorf("it is not JSON: %w", err)
	case t != json.Delim('{'):
		return errors.New("it is not a JSON object")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return fmt.Errorf("it is not JSON: %w", err)
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return fmt.Errorf("it is not JSON: %w", err)
		}
		p.entry(key.(string), value) // a key is a string, or Token fails
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the object")
	}
	return nil
}

func (p *parser) entry(key string, value any) {
	id, isString := value.(string)
	owner, taken := p.owners[strings.ToLower(id)]
	before, again := p.ids[core.ChannelKey(key)]
	switch {
	case !validKey(key):
		p.note("channel %q: the name is not valid UTF-8", key)
	case !isString:
		p.note("channel %q: its session is not a string", key)
	case !validID(id):
		p.note("channel %q: %q is not a UUID", key, humanize.Shorten(id, 60))
	case again && before == id:
	case again:
		p.note("channel %q is there twice; session %s was dropped", key, id)
	case taken:
		p.note("channel %q has the same session as channel %q, %s, and was dropped", key, owner, id)
	default:
		p.ids[core.ChannelKey(key)] = id
		p.owners[strings.ToLower(id)] = key
	}
}

func validID(id string) bool { return len(id) == 36 && uuid.Validate(id) == nil }
