package intent

import (
	"slices"
	"strings"
	"unicode"
)

// words are those of a text or a name, in lowercase letters.
type words []string

// wordsOf returns the words of a text. Names are split where _, - and other signs stand, and camelCase is.
func wordsOf(text string) (w words) {
	var word []rune
	end := func() {
		if len(word) > 0 {
			w = append(w, strings.ToLower(string(word)))
		}
		word = word[:0]
	}
	var before rune
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
		case unicode.IsUpper(r) && unicode.IsLower(before):
			end()
			word = append(word, r)
		default:
			word = append(word, r)
		}
		before = r
	}
	end()
	return w
}

// index returns where a phrase begins, whose last word may be a plural; -1: nowhere.
func (w words) index(phrase string) int {
	parts := strings.Fields(phrase)
	last := len(parts) - 1
	for i := range w {
		if i+last >= len(w) {
			break
		}
		end := w[i+last]
		if slices.Equal(w[i:i+last], parts[:last]) && (end == parts[last] || end == parts[last]+"s") {
			return i
		}
	}
	return -1
}

// has reports whether there is a phrase.
func (w words) has(phrase string) bool { return w.index(phrase) >= 0 }

// without returns the words without a phrase where it first stands.
func (w words) without(phrase string) words {
	i := w.index(phrase)
	if i < 0 {
		return w
	}
	return slices.Delete(slices.Clone(w), i, i+len(strings.Fields(phrase)))
}

// String returns the words with spaces between them.
func (w words) String() string { return strings.Join(w, " ") }

// clausesOf splits the words of a name, or those of a text, where a part ends that asks for something by
// itself: at a stop, and at and and then.
func clausesOf(text string) (all []words) {
	stops := func(r rune) bool { return strings.ContainsRune(".;:,!?\n", r) }
	for _, part := range strings.FieldsFunc(text, stops) {
		var clause words
		for _, word := range wordsOf(part) {
			if word == "and" || word == "then" {
				all = append(all, clause)
				clause = nil
			} else {
				clause = append(clause, word)
			}
		}
		all = append(all, clause)
	}
	return slices.DeleteFunc(all, func(w words) bool { return len(w) == 0 })
}

// joined returns clauses of at least two words: a single word, as in a list, belongs to the clause before.
func joined(all []words) (out []words) {
	for _, clause := range all {
		if last := len(out) - 1; last >= 0 && len(clause) < 2 {
			out[last] = append(out[last], clause...)
		} else {
			out = append(out, clause)
		}
	}
	return out
}
