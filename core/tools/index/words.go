package index

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what a search reads of a query, and the index of a document.
const (
	maxQuery  = 1000    // bytes
	maxTerms  = 24      // that a search looks for
	maxColumn = 8 << 10 // bytes
)

// minPrefix is the length of the shortest term that stands for words that begin with it, in characters.
const minPrefix = 3

// A text is what the index has of a document, by column.
type text struct {
	name, description, parameters, server string
}

func textOf(d *Document) text {
	return text{
		name:        expand(d.Name),
		description: expand(d.Description),
		parameters:  expand(parametersOf(d.Input)),
		server:      expand(d.Server),
	}
}

// parametersOf returns the names and descriptions of a schema's properties, and the texts that they may
// be; empty if there are none, or the schema is not one.
func parametersOf(schema json.RawMessage) string {
	var object struct {
		Properties map[string]struct {
			Description string `json:"description"`
			Enum        []any  `json:"enum"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(schema, &object) // leaves out what has another type: true is a schema too
	var words []string
	for _, name := range slices.Sorted(maps.Keys(object.Properties)) {
		property := object.Properties[name]
		words = append(words, name, property.Description)
		for _, value := range property.Enum {
			if s, ok := value.(string); ok {
				words = append(words, s)
			}
		}
	}
	return strings.Join(words, "\n")
}

// expand returns a text, of which each word in camelCase is followed by the words that it consists of.
func expand(s string) string {
	s = cut(s, maxColumn)
	var b strings.Builder
	for _, word := range wordsOf(s) {
		if !strings.ContainsFunc(word, unicode.IsUpper) {
			continue
		}
		if parts := splitCase(word); len(parts) > 1 {
			before, after, _ := strings.Cut(s, word)
			b.WriteString(before)
			b.WriteString(word)
			b.WriteByte(' ')
			b.WriteString(strings.Join(parts, " "))
			s = after
		}
	}
	b.WriteString(s)
	return b.String()
}

// HasWords reports whether a query has a word that Search can look for.
func HasWords(query string) bool { return len(wordsOf(cut(query, maxQuery))) > 0 }

// termsOf returns what a search looks for, in lowercase letters: the words of a query, and first those that
// stand together, as json_diff and jsonDiff, which are json and diff.
func termsOf(query string) (terms []string) {
	for _, chunk := range meaningful(query) {
		for _, term := range phrasesOf(chunk) {
			term = strings.ToLower(term)
			if !slices.Contains(terms, term) && len(terms) < maxTerms {
				terms = append(terms, term)
			}
		}
	}
	return terms
}

// exactly returns the expression of FTS5 that matches a term. The term stands between quotes, where nothing
// is syntax: it has letters, marks, digits and spaces.
func exactly(term string) string { return `"` + term + `"` }

// beginning returns the expression of FTS5 that matches words that begin with a term; empty: the term is too short.
func beginning(term string) string {
	if utf8.RuneCountInString(term) < minPrefix {
		return ""
	}
	return exactly(term) + "*"
}

// fillers are words that say nothing of a tool, with spaces around them.
const fillers = " a all an and any are as at be by can can't could do does doesn't don't for from has have how i if in into is it its me my need of on or " +
	"our please should so some that the their them there these they this to up us use want was we what when where which will with would you your "

// meaningful returns what stands between the spaces of a query, without fillers, unless it has nothing else.
func meaningful(query string) []string {
	isFiller := func(chunk string) bool { return strings.Contains(fillers, " "+strings.ToLower(chunk)+" ") }
	var chunks []string
	for _, chunk := range strings.Fields(cut(query, maxQuery)) {
		if len(wordsOf(chunk)) > 0 {
			chunks = append(chunks, trim(chunk))
		}
	}
	left := slices.DeleteFunc(slices.Clone(chunks), isFiller)
	if len(left) == 0 {
		return chunks
	}
	return left
}

// contractions are what follows the first word of a contraction, or of a genitive.
var contractions = []string{"'d", "'ll", "'m", "'re", "'s", "'ve"}

// trim returns a text with words without the punctuation around it, and without the end of a contraction:
// what of "what's?".
func trim(chunk string) string {
	chunk = strings.TrimFunc(chunk, func(r rune) bool { return !isWord(r) })
	chunk = strings.ReplaceAll(chunk, "’", "'")
	for _, end := range contractions {
		begin := len(chunk) - len(end)
		if begin > 0 && strings.EqualFold(chunk[begin:], end) && len(wordsOf(chunk[:begin])) > 0 {
			return chunk[:begin]
		}
	}
	return chunk
}

// phrasesOf returns what a search looks for that has text without spaces: json_diff and jsonDiff are the
// words json and diff, one beside the other or each by itself.
func phrasesOf(chunk string) (phrases []string) {
	words := wordsOf(chunk)
	if len(words) > 1 {
		phrases = append(phrases, strings.Join(words, " "))
	}
	for _, word := range words {
		phrases = append(phrases, word)
		if parts := splitCase(word); len(parts) > 1 {
			phrases = append(phrases, parts...)
		}
	}
	return phrases
}

// wordsOf returns the runs of letters, marks and digits of a text.
func wordsOf(s string) []string {
	words := strings.FieldsFunc(s, func(r rune) bool { return !isWord(r) })
	return slices.DeleteFunc(words, func(w string) bool { return !strings.ContainsFunc(w, isCharacter) })
}

// isCharacter reports whether a rune can be a word by itself.
func isCharacter(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

func isWord(r rune) bool { return isCharacter(r) || unicode.IsMark(r) }

// splitCase returns the words of which one in camelCase consists: HTTPServer is HTTP and Server.
func splitCase(word string) (parts []string) {
	runes := []rune(word)
	begin := 0
	for i := 1; i < len(runes); i++ {
		if !unicode.IsUpper(runes[i]) {
			continue
		}
		ends := i+1 < len(runes) && unicode.IsLower(runes[i+1]) // of an abbreviation
		if !unicode.IsUpper(runes[i-1]) || ends {
			parts = append(parts, string(runes[begin:i]))
			begin = i
		}
	}
	return append(parts, string(runes[begin:]))
}

// cut returns the beginning of a text as valid UTF-8, of at most limit bytes.
func cut(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
	}
	return strings.ToValidUTF8(s, " ")
}
