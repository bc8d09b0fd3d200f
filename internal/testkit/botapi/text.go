package botapi

import (
	"encoding/json"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxText    = 4096    // core.telegram.org/bots/api#sendmessage
	maxCaption = 1024    // core.telegram.org/bots/api#sendphoto
	maxRaw     = 1 << 15 // bytes before parsing, in the Bot API server's source
)

// length counts UTF-16 units. The documentation says characters, and the public
// source counts code points; UTF-16 units are never fewer.
func length(text string) int { return len(utf16.Encode([]rune(text))) }

// formatted reads a text and its entities, as the user will see them. An empty text is for the caller to refuse.
func (r *request) formatted(textName, entitiesName string) (string, []Entity) {
	raw := r.text(textName)
	switch {
	case !utf8.ValidString(raw):
		panic(bad("strings must be encoded in UTF-8"))
	case len(raw) > maxRaw:
		panic(bad("text is too long"))
	}
	if mode := r.text("parse_mode"); mode != "" {
		r.violate("parse_mode %q; a text that cannot be parsed is lost", mode)
		panic(bad("unsupported parse_mode"))
	}
	entities := r.entities(entitiesName)
	return r.settle(raw, entities)
}

// entities reads and checks each by itself.
func (r *request) entities(name string) []Entity {
	var raw []json.RawMessage
	if _, err := r.decode(name, &raw); err != nil {
		r.violate("%s is not a JSON array; Telegram ignores it: %v", name, err)
		return nil
	}
	var entities []Entity
	for _, one := range raw {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(one, &fields); err != nil {
			panic(bad("can't parse MessageEntity: expected an Object"))
		}
		for _, field := range []string{"offset", "length", "type"} {
			if _, ok := fields[field]; !ok {
				panic(bad("can't parse MessageEntity: Can't find field \"%s\"", field))
			}
		}
		var e Entity
		if err := json.Unmarshal(one, &e); err != nil {
			panic(bad("can't parse MessageEntity: %v", err))
		}
		e.check()
		if found(e.Type) {
			r.drop(e, "Telegram finds these by itself")
			continue
		}
		entities = append(entities, e)
	}
	return entities
}

func (r *request) drop(e Entity, why string) {
	r.violate("the entity %s at %d+%d is dropped: %s", e.Type, e.Offset, e.Length, why)
}

// settle makes of a text and its entities what is shown: checked, cleaned,
// trimmed, and without the entities that cannot be shown.
func (r *request) settle(text string, entities []Entity) (string, []Entity) {
	checkOffsets(text, entities)
	units, entities := clean(text, entities)
	kept := r.keep(units, sorted(entities))
	units, kept = trim(units, kept)
	size := 0
	for _, e := range kept {
		size += len(e.URL) + len(e.Language)
	}
	if size > maxEntityBytes {
		panic(bad("ENTITIES_TOO_LONG"))
	}
	return string(utf16.Decode(units)), kept
}

// keep drops what Telegram drops without a word.
func (r *request) keep(units []uint16, entities []Entity) []Entity {
	var kept []Entity
	for _, e := range entities {
		why := ""
		switch {
		case e.Length == 0:
			why = "it is empty"
		case blank(units[e.Offset:e.end()]):
			why = "it holds only white space"
		case len(kept) == maxEntities:
			why = "there are 100 already"
		}
		for _, outer := range kept {
			if clashing := clash(outer, e); clashing != "" && why == "" {
				why = clashing + ": " + outer.Type
			}
		}
		if why != "" {
			r.drop(e, why)
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

func blank(units []uint16) bool {
	return strings.Trim(string(utf16.Decode(units)), " \n") == ""
}

// checkOffsets refuses entities beyond the text or inside of a character.
func checkOffsets(text string, entities []Entity) {
	starts, bytes := map[int]bool{}, map[int]int{}
	total := 0
	for i, c := range text {
		starts[total] = true
		for n := range utf16.RuneLen(c) {
			bytes[total+n] = i
		}
		total += utf16.RuneLen(c)
	}
	starts[total] = true
	for _, e := range sorted(entities) {
		switch {
		case e.Offset > total:
			panic(bad("entity begins after the end of the text at UTF-16 offset %d", e.Offset))
		case !starts[e.Offset]:
			panic(bad("entity begins in a middle of a UTF-16 symbol at byte offset %d", bytes[e.Offset]))
		case e.end() > total:
			panic(bad("entity beginning at UTF-16 offset %d ends after the end of the text at UTF-16 offset %d", e.Offset, e.end()))
		case !starts[e.end()]:
			panic(bad("entity beginning at UTF-16 offset %d ends in a middle of a UTF-16 symbol at byte offset %d", e.Offset, bytes[e.end()]))
		}
	}
}

// clean takes out the characters Telegram takes out and makes spaces of the
// other control characters. Entities move with their text.
func clean(text string, entities []Entity) ([]uint16, []Entity) {
	var units []uint16
	moved := []int{}
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
	var out []Entity
	for _, e := range entities {
		from, to := moved[e.Offset], moved[e.end()]
		e.Offset, e.Length = from, to-from
		out = append(out, e)
	}
	return units, out
}

// trim takes spaces and line ends off the end, and off the start up to the first
// entity.
func trim(units []uint16, entities []Entity) ([]uint16, []Entity) {
	space := func(u uint16) bool { return u == ' ' || u == '\n' }
	for len(units) > 0 && space(units[len(units)-1]) {
		units = units[:len(units)-1]
	}
	first := len(units)
	if len(entities) > 0 {
		first = entities[0].Offset
	}
	skip := 0
	for skip < first && space(units[skip]) {
		skip++
	}
	var out []Entity
	for _, e := range entities {
		e.Length = min(e.end(), len(units)) - e.Offset
		e.Offset -= skip
		out = append(out, e)
	}
	return units[skip:], out
}
