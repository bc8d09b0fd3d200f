package rules

import (
	"iter"
	"regexp"
	"sync"
)

// An expression is a regular expression that is compiled when it is first used. It is safe for concurrent use.
type expression struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

// pattern returns the compiled expression.
func (e *expression) pattern() *regexp.Regexp {
	e.once.Do(func() { e.compiled = regexp.MustCompile(e.text) })
	return e.compiled
}

// around yields the surroundings of the places where the text has one of the words, which are in
// lowercase. Most texts have none, so that expressions, which are slow, need not read them. A match of
// up to half of windowAfter from a word on is in one of them whole. There are at most maxWindows.
func around(text string, words ...string) iter.Seq[string] {
	return func(yield func(window string) bool) {
		next := 0
		windows := 0
		for at := range text {
			if at < next || !hasWord(text[at:], words) {
				continue
			}
			window := text[max(0, at-windowBefore):min(len(text), at+windowAfter)]
			windows++
			if !yield(window) || windows == maxWindows {
				return
			}
			next = at + windowAfter/halves
		}
	}
}

// hasWord reports whether the text begins with one of the words, in any case of letters.
func hasWord(text string, words []string) bool {
	for _, word := range words {
		if lower(text[0]) == word[0] && beginsWith(text, word) {
			return true
		}
	}
	return false
}

func beginsWith(text, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := range len(word) {
		if lower(text[i]) != word[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c - 'A' + 'a'
	}
	return c
}
