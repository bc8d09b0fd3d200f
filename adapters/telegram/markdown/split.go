package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
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
		end := s.reach(at)
		if end < len(s.text) {
			end = s.cut(at, end)
		}
		if from, to := trim(s.text, s.pres, at, end); !isBlank(s.text[from:to]) {
			out = append(out, s.piece(from, to))
		}
		at = end
	}
}

// A splitter splits a single document. Leading spans that end before the current piece
// are removed.
type splitter struct {
	text  string
	spans []span
	pres  []span
	limit int
}

// reach returns the maximum end of a piece that begins at start.
func (s *splitter) reach(start int) int {
	end := advance(s.text, start, s.limit)
	for len(s.spans) > 0 && s.spans[0].end <= start {
		s.spans = s.spans[1:]
	}
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

// entityBytes estimates an entity's share of maxEntityBytes: type, offset, length, and
// the strings with length prefixes.
func entityBytes(s span) int { return 20 + len(s.entity.URL) + len(s.entity.Language) }

// cut returns the end of a piece that begins at start and may extend to end.
func (s *splitter) cut(start, end int) int {
	size := end - start
	if at := s.lastBlock(start, end); at > start+size/4 {
		return at
	}
	line := start + max(0, strings.LastIndexByte(s.upTo(start, end), '\n'))
	if line > start+size/2 {
		return line
	}
	if word := s.lastWord(start, end); word > start+size/8 {
		return word
	}
	if line > start+size/8 {
		return line
	}
	return s.lastCharacter(start, end)
}

// upTo returns the text from start to end, including a line break or space right after
// end, another valid place for the cut.
func (s *splitter) upTo(start, end int) string {
	if s.text[end] == '\n' || s.text[end] == ' ' {
		end++
	}
	return s.text[start:end]
}

// lastBlock returns the end of the last complete block, or start.
func (s *splitter) lastBlock(start, end int) int {
	piece := s.text[start:min(end+2, len(s.text))]
	for {
		i := strings.LastIndex(piece, "\n\n")
		if i <= 0 {
			return start
		}
		if _, inside := preAt(s.pres, start+i); !inside {
			return start + i
		}
		piece = piece[:i+1]
	}
}

// lastWord returns the end of the last complete word, or start.
func (s *splitter) lastWord(start, end int) int {
	piece := s.upTo(start, end)
	for {
		i := strings.LastIndexByte(piece, ' ')
		if i <= 0 {
			return start
		}
		next, _ := utf8.DecodeRuneInString(s.text[start+i+1:])
		if !unicode.In(next, unicode.M) && next != '\u200D' { // a combining character would form one cluster with the space
			return start + i
		}
		piece = piece[:i]
	}
}

// lastCharacter returns the end of the last complete grapheme cluster, or end if a
// single cluster exceeds a message.
func (s *splitter) lastCharacter(start, end int) int {
	if at := start + wholeCharacters(s.text[start:], end-start); at > start {
		return at
	}
	return end
}

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
