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
	maxWords  = 24      // of a query
	maxColumn = 8 << 10 // bytes
)

// minPrefix is the number of characters from which on a word of a query also finds the words that begin
// with it.
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

// parametersOf returns the names and descriptions of a schema's properties; empty if there are none, or
// the schema is not one.
func parametersOf(schema json.RawMessage) string {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &object); err != nil {
		return ""
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(object.Properties)) {
		var property struct {
			Description string `json:"description"`
		}
		_ = json.Unmarshal(object.Properties[name], &property) // true and false are schemas too
		b.WriteString(name)
		b.WriteByte(' ')
		b.WriteString(property.Description)
		b.WriteByte('\n')
	}
	return b.String()
}

// expand returns the words of a text, and after each in camelCase the words that it consists of.
func expand(s string) string {
	var b strings.Builder
	for _, word := range wordsOf(cut(s, maxColumn)) {
		b.WriteString(word)
		b.WriteByte(' ')
		if parts := splitCase(word); len(parts) > 1 {
			b.WriteString(strings.Join(parts, " "))
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// HasWords reports whether a query has a word that Search can look for.
func HasWords(query string) bool { return len(wordsOf(cut(query, maxQuery))) > 0 }

// matchOf returns the expression of FTS5 that matches the documents with any word of a query; empty if
// there is none. The expression has each word between quotes, as a string without syntax: words consist of
// letters, marks and digits.
func matchOf(query string) string {
	var terms []string
	add := func(term string) {
		if !slices.Contains(terms, term) && len(terms) < 2*maxWords {
			terms = append(terms, term)
		}
	}
	for _, chunk := range strings.Fields(cut(query, maxQuery)) {
		for _, phrase := range phrasesOf(chunk) {
			phrase = strings.ToLower(phrase)
			add(`"` + phrase + `"`)
			if utf8.RuneCountInString(phrase) >= minPrefix {
				add(`"` + phrase + `"*`)
			}
		}
	}
	return strings.Join(terms, " OR ")
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
