package script

import (
	"strings"
	"sync"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// collators are those that are not in use, by how they compare. A collator serves one goroutine at a time.
var collators sync.Map // of *sync.Pool, by string

// compareTexts returns -1, 0 or 1 as people sort texts in English. How is a sensitivity of localeCompare, and
// may have the word numeric.
func compareTexts(a, b, how string) int {
	pool, ok := collators.Load(how)
	if !ok {
		pool, _ = collators.LoadOrStore(how, &sync.Pool{New: func() any { return newCollator(how) }})
	}
	c := pool.(*sync.Pool).Get().(*collate.Collator)
	defer pool.(*sync.Pool).Put(c)
	return c.CompareString(a, b)
}

func newCollator(how string) *collate.Collator {
	sensitivity, numeric, _ := strings.Cut(how, " ")
	var options []collate.Option
	switch sensitivity {
	case "base":
		options = append(options, collate.IgnoreCase, collate.IgnoreDiacritics)
	case "accent":
		options = append(options, collate.IgnoreCase)
	}
	if numeric != "" {
		options = append(options, collate.Numeric)
	}
	return collate.New(language.AmericanEnglish, options...)
}
