package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxUnits is the length of the longest message in UTF-16 units
	// (core.telegram.org/bots/api#sendmessage: 4096 characters after entities
	// parsing).
	MaxUnits = 4096
	// MaxEntities is how many entities a message may have: Telegram ignores what is
	// more (github.com/tdlib/telegram-bot-api/issues/820; the Bot API does not say so).
	MaxEntities = 100
	// maxEntityBytes bounds the entities of a message, mostly the addresses of
	// its links. Telegram refuses more than about 9,500 bytes with ENTITIES_TOO_LONG
	// (github.com/tdlib/telegram-bot-api/issues/165); this leaves some room.
	maxEntityBytes = 8000

	minLimit = 2 // a surrogate pair
)

// Split cuts a document into messages of at most limit UTF-16 units and
// MaxEntities entities, fewer if their addresses are long. A limit of 0, or one
// beyond MaxUnits, is MaxUnits. It cuts between blocks if that does not leave a
// message three quarters empty, else between lines, else between words, else
// between characters as they are seen. An entity that would be cut ends with the
// one message and begins again in the next.
//
// Nothing is lost: the texts of the messages, one after the other, are the text
// of the document but for spaces and line breaks at its beginning, at its end and
// where it is cut, and but for stretches of invisible characters that would be a
// message by themselves, which Telegram refuses. A document of which nothing can
// be seen is no message.
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

// A splitter cuts one document. Spans that end before the present piece are
// taken off.
type splitter struct {
	text  string
	spans []span
	pres  []span
	limit int
}

// reach returns how far a piece may go at most that begins at start.
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
			return sp.start // where few begin: at most one of each kind, and one link
		}
	}
	return end
}

// entityBytes returns about what an entity takes of maxEntityBytes: its type,
// offset and length, and the texts in it with their lengths.
func entityBytes(s span) int { return 20 + len(s.entity.URL) + len(s.entity.Language) }

// cut returns where a piece ends that begins at start and may go as far as end.
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

// upTo returns the text from start to end, and the line break or space behind it,
// at which it may be cut as well.
func (s *splitter) upTo(start, end int) string {
	if s.text[end] == '\n' || s.text[end] == ' ' {
		end++
	}
	return s.text[start:end]
}

// lastBlock returns where the last block ends that is whole, or start.
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

// lastWord returns where the last word ends that is whole, or start.
func (s *splitter) lastWord(start, end int) int {
	piece := s.upTo(start, end)
	for {
		i := strings.LastIndexByte(piece, ' ')
		if i <= 0 {
			return start
		}
		next, _ := utf8.DecodeRuneInString(s.text[start+i+1:])
		if !unicode.In(next, unicode.M) && next != '\u200D' { // else it is one character with the space
			return start + i
		}
		piece = piece[:i]
	}
}

// lastCharacter returns where the last character ends that is whole, as people
// see characters, or end if one is longer than a message.
func (s *splitter) lastCharacter(start, end int) int {
	if at := start + wholeCharacters(s.text[start:], end-start); at > start {
		return at
	}
	return end
}

// piece returns a part of the document, with the entities in it.
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
