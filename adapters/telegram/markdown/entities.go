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

// Slots number the independent parts of a style, outer parts first for equal ranges.
const (
	slotQuote = iota
	slotLink
	slotMarks // the first of five slots, one per mark
	slotCode  = slotMarks + 5
	slots     = slotCode + 1
)

// at returns the value of a style in a slot, 0 meaning none. Adjacent runs with equal
// values form a single entity.
func (s style) at(slot int) int {
	switch slot {
	case slotQuote:
		return s.quote
	case slotLink:
		return s.link
	case slotCode:
		return s.code
	}
	return int(s.marks>>(slot-slotMarks)) & 1
}

// entity converts the value of a slot to an entity.
func (b *Builder) entity(slot, value int) models.MessageEntity {
	switch slot {
	case slotQuote:
		if b.quotes[value-1] {
			return models.MessageEntity{Type: models.MessageEntityTypeExpandableBlockquote}
		}
		return models.MessageEntity{Type: models.MessageEntityTypeBlockquote}
	case slotLink:
		return models.MessageEntity{Type: models.MessageEntityTypeTextLink, URL: b.links[value-1]}
	case slotCode:
		if c := b.codes[value-1]; c.block {
			return models.MessageEntity{Type: models.MessageEntityTypePre, Language: c.language}
		}
		return models.MessageEntity{Type: models.MessageEntityTypeCode}
	}
	return models.MessageEntity{Type: markTypes()[slot-slotMarks]}
}

// enter is the inverse of entity: enter registers an entity and returns the entity's
// style.
func (b *Builder) enter(e models.MessageEntity) style {
	switch e.Type {
	case models.MessageEntityTypeBlockquote, models.MessageEntityTypeExpandableBlockquote:
		b.quotes = append(b.quotes, e.Type == models.MessageEntityTypeExpandableBlockquote)
		return style{quote: len(b.quotes)}
	case models.MessageEntityTypeTextLink:
		b.links = append(b.links, e.URL)
		return style{link: len(b.links)}
	case models.MessageEntityTypePre, models.MessageEntityTypeCode:
		b.codes = append(b.codes, code{e.Type == models.MessageEntityTypePre, e.Language})
		return style{code: len(b.codes)}
	}
	return style{marks: 1 << max(0, slices.Index(markTypes(), e.Type))}
}

// markTypes lists the entity types of marks in bit order.
func markTypes() []models.MessageEntityType {
	return []models.MessageEntityType{
		models.MessageEntityTypeBold, models.MessageEntityTypeItalic, models.MessageEntityTypeUnderline,
		models.MessageEntityTypeStrikethrough, models.MessageEntityTypeSpoiler,
	}
}

// spans converts the runs to properly nested spans. An entity that would partly overlap
// another entity is split in two.
func (b *Builder) spans(text string) []span {
	type opened struct{ slot, value, start int }
	var open []opened // outermost first
	var out []span
	ends := b.ends()
	closeFrom := func(depth, at int) {
		for _, o := range open[depth:] {
			out = append(out, span{o.start, at, b.entity(o.slot, o.value)})
		}
		open = open[:depth]
	}
	at := 0
	for i, r := range b.runs {
		keep := slices.IndexFunc(open, func(o opened) bool { return r.style.at(o.slot) != o.value })
		if keep >= 0 {
			closeFrom(keep, at)
		}
		have := len(open)
		for slot := range slots {
			value := r.style.at(slot)
			if value != 0 && !slices.ContainsFunc(open, func(o opened) bool { return o.slot == slot }) {
				open = append(open, opened{slot, value, at})
			}
		}
		slices.SortStableFunc(open[have:], func(a, b opened) int { return ends[i][b.slot] - ends[i][a.slot] })
		at = r.end
	}
	closeFrom(0, at)
	return trimSpans(text, out)
}

// ends returns, for each run and slot, the offset at which the slot's value changes.
func (b *Builder) ends() [][slots]int {
	ends := make([][slots]int, len(b.runs))
	for i := len(b.runs) - 1; i >= 0; i-- {
		for slot := range slots {
			value := b.runs[i].style.at(slot)
			switch {
			case value == 0:
			case i+1 < len(b.runs) && b.runs[i+1].style.at(slot) == value:
				ends[i][slot] = ends[i+1][slot]
			default:
				ends[i][slot] = b.runs[i].end
			}
		}
	}
	return ends
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
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(rank(a), rank(b)))
	})
	return out
}

// rank orders entities with equal ranges, outer entities first.
func rank(s span) int {
	switch s.entity.Type {
	case models.MessageEntityTypeBlockquote, models.MessageEntityTypeExpandableBlockquote:
		return 0
	case models.MessageEntityTypePre, models.MessageEntityTypeCode:
		return 2
	}
	return 1
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
	borders := make([]int, 0, 2*len(spans))
	for _, s := range spans {
		borders = append(borders, s.start, s.end)
	}
	slices.Sort(borders)
	borders = slices.Compact(borders)
	units := make([]int, len(borders))
	at, sum := 0, 0
	for i, border := range borders {
		sum += Length(text[at:border])
		units[i], at = sum, border
	}
	unitsAt := func(at int) int {
		i, _ := slices.BinarySearch(borders, at)
		return units[i]
	}
	out := make([]models.MessageEntity, len(spans))
	for i, s := range spans {
		out[i] = s.entity
		out[i].Offset = unitsAt(s.start)
		out[i].Length = unitsAt(s.end) - out[i].Offset
	}
	return out
}

// spansOf returns the entities of a document as spans with byte offsets, in order.
func spansOf(d Document) []span {
	borders := make([]int, 0, 2*len(d.Entities)) // in UTF-16 units
	for _, e := range d.Entities {
		borders = append(borders, e.Offset, e.Offset+e.Length)
	}
	slices.Sort(borders)
	borders = slices.Compact(borders)
	offsets := make([]int, len(borders))
	at, sum := 0, 0
	for i, border := range borders {
		at, sum = advance(d.Text, at, border-sum), border
		offsets[i] = at
	}
	offsetOf := func(units int) int {
		i, _ := slices.BinarySearch(borders, units)
		return offsets[i]
	}
	spans := make([]span, len(d.Entities))
	for i, e := range d.Entities {
		spans[i] = span{offsetOf(e.Offset), offsetOf(e.Offset + e.Length), e}
	}
	return spans
}
