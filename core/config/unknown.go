package config

import (
	"slices"
	"strings"
)

// An Unknown is a BARECLAW_ variable not read by any part of the program.
type Unknown struct {
	Name    string
	Nearest string // the most similar known variable; empty if none is similar
}

// String describes the variable in a sentence for a log line.
func (u Unknown) String() string {
	if u.Nearest == "" {
		return u.Name + " is set, but there is no such variable"
	}
	return u.Name + " is set, but there is no such variable; did you mean " + u.Nearest + "?"
}

const prefix = "BARECLAW_"

// given returns variables set by the gateway itself for claude's tools. The variables are
// allowed in the environment, but are no settings.
func given() []string { return []string{prefix + "SOCKET", prefix + "SESSION"} }

// maxTypos bounds the single-character edits counted as a typo.
const maxTypos = 2

// unknown returns the BARECLAW_ names among environ's NAME=VALUE entries, except known
// variables, variables set by the gateway and variables for the project's own tests.
func unknown(environ []string) []Unknown {
	var known []string
	for _, v := range Variables() {
		known = append(known, v.Name)
	}
	var out []Unknown
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) || slices.Contains(known, name) || slices.Contains(given(), name) ||
			strings.HasPrefix(name, prefix+"TEST_") || strings.HasPrefix(name, prefix+"REQUIRE_") {
			continue
		}
		out = append(out, Unknown{Name: name, Nearest: nearest(name, known)})
	}
	slices.SortFunc(out, func(a, b Unknown) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// nearest returns the entry of known most similar to name, and the empty string if every
// entry differs by more than maxTypos.
func nearest(name string, known []string) string {
	best, bestEdits := "", maxTypos+1
	for _, k := range known {
		if n := edits(name, k); n < bestEdits {
			best, bestEdits = k, n
		}
	}
	return best
}

// edits returns the Levenshtein distance of a and b in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
