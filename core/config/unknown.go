package config

import (
	"slices"
	"strings"
)

// An Unknown is a BARECLAW_ variable that nothing reads.
type Unknown struct {
	Name    string
	Nearest string // the known variable it is probably meant to be; may be empty
}

// String is a sentence for a log line.
func (u Unknown) String() string {
	if u.Nearest == "" {
		return u.Name + " is set, but there is no such variable"
	}
	return u.Name + " is set, but there is no such variable; did you mean " + u.Nearest + "?"
}

const prefix = "BARECLAW_"

// given are those that the gateway itself sets for what claude runs: they may be there,
// and are no settings.
func given() []string { return []string{prefix + "SOCKET", prefix + "SESSION"} }

// maxTypos is how many single-character edits still count as a typo.
const maxTypos = 2

// unknown finds the BARECLAW_ names among environ's NAME=VALUE entries that
// are neither a variable of ours, nor given by the gateway, nor meant for the project's own tests.
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

// nearest returns the one of known that name differs from least, or nothing if
// they all differ by more than a typo.
func nearest(name string, known []string) string {
	best, bestEdits := "", maxTypos+1
	for _, k := range known {
		if n := edits(name, k); n < bestEdits {
			best, bestEdits = k, n
		}
	}
	return best
}

// edits is the Levenshtein distance of a and b in bytes.
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
