package markdown

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-telegram/bot/models"
)

// A span is an entity with byte offsets. The Offset and Length of the entity field are
// meaningless.
type span struct {
	start, end int
	entity     models.MessageEntity
}

func (s span) isPre() bool { return s.entity.Type == models.MessageEntityTypePre }

// isBlock reports whether the entity begins and ends with a line.
func (s span) isBlock() bool { return s.isPre() || nesting(s) <= 1 }

// nesting returns the position of an entity among entities of the same range: 0
// and 1 are quotations, the outermost.
func nesting(s span) int {
	return slices.Index([]models.MessageEntityType{
		models.MessageEntityTypeBlockquote, models.MessageEntityTypeExpandableBlockquote,
		models.MessageEntityTypeBold, models.MessageEntityTypeItalic, models.MessageEntityTypeUnderline, models.MessageEntityTypeStrikethrough, models.MessageEntityTypeSpoiler,
		models.MessageEntityTypeTextLink, models.MessageEntityTypeCode, models.MessageEntityTypePre,
	}, s.entity.Type)
}

// trimSpans trims white space from spans, drops spans without visible text, and sorts by
// start, then longest first, then outer entities first.
func trimSpans(text string, spans []span) []span {
	pres := preSpans(spans)
	out := make([]span, 0, len(spans))
	for _, s := range spans {
		s.start, s.end = trim(text, pres, s.start, s.end)
		if s.start < s.end && !isBlank(text[s.start:s.end]) {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(nesting(a), nesting(b)))
	})
	return out
}

// preSpans returns the code blocks among spans, sorted by start.
func preSpans(spans []span) []span {
	var pres []span
	for _, s := range spans {
		if s.isPre() {
			pres = append(pres, s)
		}
	}
	slices.SortFunc(pres, func(a, b span) int { return a.start - b.start })
	return pres
}

// preAt returns the code block that contains an offset.
func preAt(pres []span, at int) (span, bool) {
	i, _ := slices.BinarySearchFunc(pres, at, func(s span, at int) int {
		if s.end <= at {
			return -1
		}
		return 1
	})
	if i < len(pres) && pres[i].start <= at {
		return pres[i], true
	}
	return span{}, false
}

// trim narrows a range to exclude white space at both ends, as Telegram trims messages.
// The indentation of a code block's first line stays: Telegram trims no further than the
// start of the first entity.
func trim(text string, pres []span, start, end int) (from, to int) {
	end = start + len(strings.TrimRight(text[start:end], " \n"))
	first := end - len(strings.TrimLeft(text[start:end], " \n"))
	if first == end {
		return end, end
	}
	if pre, ok := preAt(pres, first); ok {
		line := start + 1 + strings.LastIndexByte(text[start:first], '\n')
		return max(line, pre.start), end
	}
	return first, end
}

// entities converts sorted spans to entities with offsets in UTF-16 units.
func entities(text string, spans []span) []models.MessageEntity {
	if len(spans) == 0 {
		return nil
	}
	var borders []int // in bytes
	for _, s := range spans {
		borders = append(borders, s.start, s.end)
	}
	units := translate(borders, func(unit, last, next int) int { return unit + Length(text[last:next]) })
	out := make([]models.MessageEntity, len(spans))
	for i, s := range spans {
		out[i] = s.entity
		out[i].Offset = units(s.start)
		out[i].Length = units(s.end) - out[i].Offset
	}
	return out
}

// spansOf returns the entities of a document as spans with byte offsets, in order.
func spansOf(d Document) []span {
	var borders []int // in UTF-16 units
	for _, e := range d.Entities {
		borders = append(borders, e.Offset, e.Offset+e.Length)
	}
	bytes := translate(borders, func(at, last, next int) int { return advance(d.Text, at, next-last) })
	spans := make([]span, len(d.Entities))
	for i, e := range d.Entities {
		spans[i] = span{bytes(e.Offset), bytes(e.Offset + e.Length), e}
	}
	return spans
}

// translate returns a function that converts each of the given positions to another unit.
// step converts the position next, given the conversion of the position last before.
func translate(positions []int, step func(converted, last, next int) int) func(int) int {
	slices.Sort(positions)
	positions = slices.Compact(positions)
	converted := make([]int, len(positions))
	last, at := 0, 0
	for i, next := range positions {
		at, last = step(at, last, next), next
		converted[i] = at
	}
	return func(position int) int {
		i, _ := slices.BinarySearch(positions, position)
		return converted[i]
	}
}
