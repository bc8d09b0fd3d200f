package schema

import (
	"fmt"
	"math/rand/v2"
	"regexp/syntax"
	"strings"
)

// textFor makes a text that matches a regular expression, for expressions without look-around and
// back references.
func textFor(pattern string) (string, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", fmt.Errorf("no text can be made for the pattern %s", pattern)
	}
	var b strings.Builder
	writeText(&b, re)
	return b.String(), nil
}

func writeText(b *strings.Builder, re *syntax.Regexp) {
	const more = 4 // repetitions beyond those that must be
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(characterOf(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteRune('a' + rand.N('z'-'a'+1))
	case syntax.OpStar:
		repeatText(b, re.Sub[0], 0, more)
	case syntax.OpPlus:
		repeatText(b, re.Sub[0], 1, 1+more)
	case syntax.OpQuest:
		repeatText(b, re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		most := re.Max
		if most < 0 {
			most = re.Min + more
		}
		repeatText(b, re.Sub[0], re.Min, most)
	case syntax.OpAlternate:
		writeText(b, re.Sub[rand.N(len(re.Sub))])
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			writeText(b, sub)
		}
	}
}

func repeatText(b *strings.Builder, re *syntax.Regexp, least, most int) {
	const longest = 100_000 // bytes: repetitions of repetitions multiply
	for range least + rand.N(most-least+1) {
		if b.Len() < longest {
			writeText(b, re)
		}
	}
}

// characterOf returns a character of a class, given as pairs of first and last: one that can be
// read if there is one.
func characterOf(class []rune) rune {
	var readable []rune
	for i := 0; i+1 < len(class); i += 2 {
		for r := max(class[i], ' '); r <= min(class[i+1], '~'); r++ {
			readable = append(readable, r)
		}
	}
	if r, ok := pick(readable); ok {
		return r
	}
	if len(class) < 2 {
		return 'x'
	}
	at := 2 * rand.N(len(class)/2)
	return class[at] + rand.N(class[at+1]-class[at]+1)
}
