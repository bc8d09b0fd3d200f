// Package typo finds the name that somebody may have meant who has mistyped it.
package typo

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Distance is the number of bytes to insert, remove or replace to make b of a.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// Nearest returns the known name that text most likely is a typo of; empty if text is a known name or
// like none. Names that differ in a number, such as job1 and job2, are not like each other.
func Nearest(text string, known []string) string {
	if slices.Contains(known, text) {
		return ""
	}
	allowed := 2
	if len(text) < 4 {
		allowed = 1
	}
	distance := func(name string) int { return Distance(strings.ToLower(text), strings.ToLower(name)) }
	like := slices.DeleteFunc(slices.Clone(known), func(name string) bool {
		return distance(name) > allowed || digits(name) != digits(text)
	})
	if len(like) == 0 {
		return ""
	}
	return slices.MinFunc(like, func(a, b string) int { return cmp.Compare(distance(a), distance(b)) })
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}
