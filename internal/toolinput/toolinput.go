// Package toolinput reads the input of a tool call for the people who decide about the call.
// Nothing of an input is left out, and every character of what the package returns for display
// is seen.
package toolinput

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/internal/visible"
)

// An Input is the input of a tool call, less the members taken from it.
type Input struct {
	raw     json.RawMessage
	members []Member
}

// A Member is a member of an input.
type Member struct {
	Name  string
	Value json.RawMessage
}

// asSent accepts what an agent may send.
var asSent = jsonv2.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// Read reads an input. An input that is no object has no members, and neither has one with two
// members of one name: only one of the two would count, and JSON shows both.
func Read(raw json.RawMessage) *Input {
	in := &Input{raw: raw}
	d := jsontext.NewDecoder(bytes.NewReader(raw), asSent, jsontext.AllowDuplicateNames(false))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return in
	}
	var members []Member
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return in
		}
		m := Member{Name: name.String()}
		value, err := d.ReadValue()
		if err != nil {
			return in
		}
		m.Value = json.RawMessage(value.Clone())
		members = append(members, m)
	}
	_, _ = d.ReadToken() // the end of the object
	if _, err := d.ReadToken(); errors.Is(err, io.EOF) {
		in.members = members
	}
	return in
}

// Take removes the member with exactly the name from the input and returns its text. The bool is
// false, and the input unchanged, if there is no such member or it is no text.
func (in *Input) Take(name string) (text string, ok bool) {
	for i, m := range in.members {
		if text, ok = m.Text(); ok && m.Name == name {
			in.members = append(in.members[:i:i], in.members[i+1:]...)
			return text, true
		}
	}
	return "", false
}

// Rest returns the members not taken, in their order.
func (in *Input) Rest() []Member { return in.members }

// JSON returns the whole input, also what was taken, as indented JSON to be shown.
func (in *Input) JSON() string {
	if len(in.raw) == 0 {
		return "{}"
	}
	return visible.Code(format(in.raw, jsontext.Multiline(true), jsontext.WithIndent("  ")))
}

// Text returns the value if it is a text.
func (m Member) Text() (text string, ok bool) {
	ok = len(m.Value) > 0 && m.Value[0] == '"' && jsonv2.Unmarshal(m.Value, &text, asSent) == nil
	return text, ok
}

// Label returns the name to be shown on one line. A name that is no plain word is quoted.
func (m Member) Label() string {
	if !plainWord().MatchString(m.Name) {
		quoted, _ := jsontext.AppendQuote(nil, m.Name) // the error reports what was replaced
		return visible.Line(string(quoted))
	}
	return m.Name
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-\w]+$`) })

// String returns the name and the value, as JSON, to be shown on one line.
func (m Member) String() string {
	return m.Label() + ": " + visible.Line(format(m.Value, jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true)))
}

// format returns a value with texts as readable as JSON allows, and a value that is no JSON as
// it is.
func format(value []byte, options ...jsontext.Options) string {
	b, err := jsontext.AppendFormat(nil, value, append(options, asSent)...)
	if err != nil {
		return string(value)
	}
	return string(b)
}
