// Package shortid shortens ids for people, and finds what a shortened id stands for. Lists show the
// last characters of an id, because the ids of messages (UUIDv7) begin with the time and so look
// alike.
package shortid

import (
	"fmt"
	"strings"
)

// shown is the number of characters that lists show of an id.
const shown = 8

// Full is the length of a complete UUID. A shorter text stands for a part of one.
const Full = 36

// Of returns the part of an id that lists show: its last characters.
func Of(id string) string { return id[max(0, len(id)-shown):] }

// Matches reports whether text stands for the id: the whole id, its beginning or its end. An empty
// text stands for nothing.
func Matches(id, text string) bool {
	return text != "" && (strings.HasPrefix(id, text) || strings.HasSuffix(id, text))
}

// A NoMatchError reports that a text does not stand for exactly one id.
type NoMatchError struct {
	Thing string // what the ids belong to, such as "message"
	Text  string
	Found int // number of ids
}

func (e *NoMatchError) Error() string {
	if e.Found == 0 {
		return fmt.Sprintf("there is no %s with the id %s", e.Thing, e.Text)
	}
	return fmt.Sprintf("%d %ss have an id that begins or ends with %s; give more of it", e.Found, e.Thing, e.Text)
}

// Find returns the one element whose id is text, or else begins or ends with text. The error is a
// [*NoMatchError].
func Find[T any](all []T, id func(*T) string, thing, text string) (*T, error) {
	var found []*T
	for i := range all {
		switch known := id(&all[i]); {
		case known == text:
			return &all[i], nil
		case Matches(known, text):
			found = append(found, &all[i])
		}
	}
	if len(found) != 1 {
		return nil, &NoMatchError{Thing: thing, Text: text, Found: len(found)}
	}
	return found[0], nil
}
