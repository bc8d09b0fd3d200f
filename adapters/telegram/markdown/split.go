package markdown

import (
	"unicode"
	"unicode/utf8"

	"bareclaw/internal/mdtext"
)

const (
	// MaxUnits is the maximum length of a message in UTF-16 units
	// (core.telegram.org/bots/api#sendmessage: 4096 characters after entities parsing).
	MaxUnits = 4096
	// MaxEntities is the maximum number of entities in a message: Telegram ignores the
	// rest (github.com/tdlib/telegram-bot-api/issues/820; the Bot API does not document
	// the limit).
	MaxEntities = 100
	// maxEntityBytes limits the size of a message's entities, mostly the addresses of
	// links. Telegram refuses more than about 9,500 bytes with ENTITIES_TOO_LONG
	// (github.com/tdlib/telegram-bot-api/issues/165); maxEntityBytes leaves a margin.
	maxEntityBytes = 8000

	minLimit = 2 // the units of a surrogate pair
)

// Split splits a document into messages of at most limit UTF-16 units and MaxEntities
// entities, or fewer entities if the addresses are long. A limit of 0 or above MaxUnits
// means MaxUnits. Split cuts between blocks if the message is then at least a quarter
// full, else between lines, else between words, else between grapheme clusters. A cut
// entity ends with the first message and begins again in the next.
//
// Split loses no visible text: the concatenated messages equal the document's text
// except for white space at the beginning, at the end and at cuts, and except for
// stretches of invisible characters that would form a separate message, refused by
// Telegram. A document without visible text yields no message.
func (d Document) Split(limit int) []Document {
	if limit <= 0 || limit > MaxUnits {
		limit = MaxUnits
	}
	s := splitter{text: d.Text, spans: spansOf(d), limit: max(limit, minLimit)}
	s.pres = preSpans(s.spans)
	var out []Document
	for at := 0; ; {
		at, _ = trim(s.text, s.pres, at, len(s.text))
		if at == len(s.text) {
			return out
		}
		end := s.end(at)
		if from, to := trim(s.text, s.pres, at, end); !isBlank(s.text[from:to]) {
			out = append(out, s.piece(from, to))
		}
		at = end
	}
}

// A splitter splits a single document.
type splitter struct {
	text  string
	spans []span
	pres  []span // the code blocks among spans
	limit int
}

// end returns the end of the piece that begins at start. The minimum sizes of pieces
// prevent short messages.
func (s *splitter) end(start int) int {
	most := s.reach(start)
	if most == len(s.text) {
		return most
	}
	block, line, word := s.borders(start, most)
	switch size := most - start; {
	case block > start+size/4:
		return block
	case line > start+size/2:
		return line
	case word > start+size/8:
		return word
	case line > start+size/8:
		return line
	}
	if character := start + mdtext.WholeCharacters(s.text[start:], most-start); character > start {
		return character
	}
	return most // a single grapheme cluster exceeds a message
}

// reach returns the maximum end of a piece that begins at start.
func (s *splitter) reach(start int) int {
	end := mdtext.Advance(s.text, start, s.limit)
	count, size := 0, 0
	for _, sp := range s.spans {
		if sp.end <= start {
			continue
		}
		if sp.start >= end {
			break
		}
		count, size = count+1, size+entityBytes(sp)
		if count > MaxEntities || size > maxEntityBytes {
			return sp.start // few entities begin at one offset: at most one of each kind, and one link
		}
	}
	return end
}

// borders returns the ends of the last block, line and word that end between start and
// most; 0 if there is none.
func (s *splitter) borders(start, most int) (block, line, word int) {
	for at := start + 1; at <= most; at++ {
		next, _ := utf8.DecodeRuneInString(s.text[at+1:])
		switch c := s.text[at]; {
		case c == '\n':
			line = at
			if _, inside := preAt(s.pres, at); next == '\n' && !inside {
				block = at
			}
		case c == ' ' && !unicode.In(next, unicode.M) && next != '\u200D': // else one grapheme cluster with the space
			word = at
		}
	}
	return block, line, word
}

// entityBytes estimates an entity's share of maxEntityBytes: type, offset, length, and
// the strings with length prefixes.
func entityBytes(s span) int { return 20 + len(s.entity.URL) + len(s.entity.Language) }

// piece returns the part of the document from start to end, with entities.
func (s *splitter) piece(start, end int) Document {
	text := s.text[start:end]
	var spans []span
	for _, sp := range s.spans {
		if sp.start >= end {
			break
		}
		if sp.start, sp.end = max(sp.start, start), min(sp.end, end); sp.start < sp.end {
			sp.start, sp.end = sp.start-start, sp.end-start
			spans = append(spans, sp)
		}
	}
	return Document{Text: text, Entities: entities(text, trimSpans(text, spans))}
}
