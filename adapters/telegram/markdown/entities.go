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
	out := make([]span, 0, len(spans))
	for _, s := range spans {
		s.start, s.end = trim(text, spans, s.start, s.end)
		if s.start < s.end && !isBlank(text[s.start:s.end]) {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(nesting(a), nesting(b)))
	})
	return out
}

// preAt returns the code block that contains an offset.
func preAt(spans []span, at int) (pre span, ok bool) {
	i := slices.IndexFunc(spans, func(s span) bool { return s.isPre() && s.start <= at && at < s.end })
	if i < 0 {
		return span{}, false
	}
	return spans[i], true
}

// trim narrows a range to exclude white space at both ends, as Telegram trims messages.
// The indentation of a code block's first line stays: Telegram trims no further than the
// start of the first entity.
func trim(text string, spans []span, start, end int) (from, to int) {
	end = start + len(strings.TrimRight(text[start:end], " \n"))
	first := end - len(strings.TrimLeft(text[start:end], " \n"))
	if first == end {
		return end, end
	}
	if pre, ok := preAt(spans, first); ok {
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
	offsets := byteOffsets(text)
	out := make([]models.MessageEntity, len(spans))
	for i, s := range spans {
		out[i] = s.entity
		out[i].Offset, _ = slices.BinarySearch(offsets, s.start)
		end, _ := slices.BinarySearch(offsets, s.end)
		out[i].Length = end - out[i].Offset
	}
	return out
}

func spansOf(d Document) []span {
	offsets := byteOffsets(d.Text)
	spans := make([]span, len(d.Entities))
	for i, e := range d.Entities {
		spans[i] = span{offsets[e.Offset], offsets[e.Offset+e.Length], e}
	}
	return spans
}

// byteOffsets returns the byte offset of each UTF-16 unit of a text, and the length of the
// text. Both units of a surrogate pair have the offset of the character.
func byteOffsets(text string) []int {
	offsets := make([]int, 0, len(text)+1)
	for i, c := range text {
		for range unitsOf(c) {
			offsets = append(offsets, i)
		}
	}
	return append(offsets, len(text))
}
