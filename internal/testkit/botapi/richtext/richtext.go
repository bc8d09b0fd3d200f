// Package richtext decides as Telegram does what people see of a text with entities: what
// is refused, and in which words; and what is dropped or changed without a word.
package richtext

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxRaw bounds a text before parsing, in bytes, by the Bot API server's source.
const maxRaw = 1 << 15

// Length counts UTF-16 units. The documentation says characters, and the public source
// counts code points; UTF-16 units are never fewer.
func Length(text string) int { return len(utf16.Encode([]rune(text))) }

// Settle returns what people see of a text with entities, given as JSON, and describes
// what is dropped. The error is why Telegram refuses the text.
func Settle(text, entitiesJSON string) (shown string, kept []Entity, dropped []string, err error) {
	switch {
	case !utf8.ValidString(text):
		return "", nil, nil, words("strings must be encoded in UTF-8")
	case len(text) > maxRaw:
		return "", nil, nil, words("text is too long")
	}
	var raw []json.RawMessage
	if entitiesJSON != "" {
		if err := json.Unmarshal([]byte(entitiesJSON), &raw); err != nil {
			dropped = append(dropped, fmt.Sprintf("the entities are not a JSON array: %v", err))
		}
	}
	var entities []Entity
	drop := func(e Entity, why string) {
		dropped = append(dropped, fmt.Sprintf("the entity %s at %d+%d is dropped: %s", e.Type, e.Offset, e.Length, why))
	}
	for _, one := range raw {
		e, err := parse(one)
		switch {
		case err != nil:
			return "", nil, nil, err
		case found(e.Type):
			drop(e, "Telegram finds these by itself")
		default:
			entities = append(entities, e)
		}
	}
	entities = sorted(entities)
	if err := checkOffsets(text, entities); err != nil {
		return "", nil, nil, err
	}
	units, entities := clean(text, entities)
	size := 0
	for _, e := range entities {
		if why := unshown(units, kept, e); why != "" {
			drop(e, why)
			continue
		}
		kept = append(kept, e)
		size += len(e.URL) + len(e.Language)
	}
	if size > maxEntityBytes {
		return "", nil, nil, words("ENTITIES_TOO_LONG")
	}
	units, kept = trim(units, kept)
	return string(utf16.Decode(units)), kept, dropped, nil
}

// unshown says why an entity is not shown beside the earlier ones; "": it is.
func unshown(units []uint16, earlier []Entity, e Entity) string {
	switch {
	case e.Length == 0:
		return "it is empty"
	case strings.Trim(string(utf16.Decode(units[e.Offset:e.end()])), " \n") == "":
		return "it holds only white space"
	case len(earlier) == maxEntities:
		return "there are 100 already"
	}
	for _, outer := range earlier {
		if why := clash(outer, e); why != "" {
			return why + ": " + outer.Type
		}
	}
	return ""
}

// checkOffsets refuses entities beyond the text or inside of a character.
func checkOffsets(text string, entities []Entity) error {
	inside := map[int]int{} // by unit inside of a character: byte offset of the character
	total := 0
	for i, c := range text {
		if utf16.RuneLen(c) == 2 {
			inside[total+1] = i
		}
		total += utf16.RuneLen(c)
	}
	for _, e := range entities {
		begin, cutAtBegin := inside[e.Offset]
		end, cutAtEnd := inside[e.end()]
		switch {
		case e.Offset > total:
			return words(fmt.Sprintf("entity begins after the end of the text at UTF-16 offset %d", e.Offset))
		case cutAtBegin:
			return words(fmt.Sprintf("entity begins in a middle of a UTF-16 symbol at byte offset %d", begin))
		case e.end() > total:
			return words(fmt.Sprintf("entity beginning at UTF-16 offset %d ends after the end of the text at UTF-16 offset %d", e.Offset, e.end()))
		case cutAtEnd:
			return words(fmt.Sprintf("entity beginning at UTF-16 offset %d ends in a middle of a UTF-16 symbol at byte offset %d", e.Offset, end))
		}
	}
	return nil
}

// clean removes the characters that Telegram removes, and makes spaces of the other
// control characters. Entities move with their text.
func clean(text string, entities []Entity) (units []uint16, out []Entity) {
	var moved []int
	for _, c := range text {
		for range utf16.RuneLen(c) {
			moved = append(moved, len(units))
		}
		switch {
		case c == '\r', c >= '\u2028' && c <= '\u202e':
		case c < ' ' && c != '\n', c == 0x7f:
			units = append(units, ' ')
		default:
			units = utf16.AppendRune(units, c)
		}
	}
	moved = append(moved, len(units))
	for _, e := range entities {
		from, to := moved[e.Offset], moved[e.end()]
		e.Offset, e.Length = from, to-from
		out = append(out, e)
	}
	return units, out
}

// trim removes spaces and line ends at the end, and at the start up to the first entity.
func trim(units []uint16, entities []Entity) (_ []uint16, out []Entity) {
	space := func(u uint16) bool { return u == ' ' || u == '\n' }
	for len(units) > 0 && space(units[len(units)-1]) {
		units = units[:len(units)-1]
	}
	first, skip := len(units), 0
	if len(entities) > 0 {
		first = entities[0].Offset
	}
	for skip < first && space(units[skip]) {
		skip++
	}
	for _, e := range entities {
		e.Length = min(e.end(), len(units)) - e.Offset
		e.Offset -= skip
		out = append(out, e)
	}
	return units[skip:], out
}
