package findings

import (
	"cmp"
	"slices"
	"strings"

	"bareclaw/observe/rules"
)

// severity returns how bad a problem is: a higher number is worse.
func (f *Finding) severity() int {
	return slices.Index([]rules.Severity{rules.Info, rules.Warning, rules.Critical}, f.Severity)
}

// worstFirst is the order in which findings are told and fixed: the worst first, and of those that are equally bad the one
// that was seen first.
func worstFirst(a, b *Finding) int {
	return cmp.Or(cmp.Compare(b.severity(), a.severity()), a.FirstSeen.Compare(b.FirstSeen), strings.Compare(a.ID, b.ID))
}

// keptUntil is the order in which findings are forgotten where there are too many: those that are resolved, then by
// severity, and of equal ones the one that was resolved or seen the longest time ago. What nobody will fix comes
// last: people would be told of it again.
func keptUntil(a, b *Finding) int {
	return cmp.Or(
		cmp.Compare(a.worth(), b.worth()),
		a.ResolvedAt.Compare(b.ResolvedAt),
		a.LastSeen.Compare(b.LastSeen),
		strings.Compare(a.ID, b.ID),
	)
}

// worth returns a higher number for what is worth more to be kept.
func (f *Finding) worth() int {
	const (
		resolved = -2 // below all severities
		unwanted = 3  // above them
	)
	switch {
	case f.Fix.reported(WontFix):
		return unwanted
	case f.State == Resolved:
		return resolved
	}
	return f.severity()
}

// makeRoom makes room for one more finding, and reports whether there is some. Only one that is worth as much as the new
// one, or less, is forgotten, and never one that nobody will fix. The caller holds mu.
func (s *Store) makeRoom(f *Finding) bool {
	if len(s.records) < maxFindings {
		return true
	}
	var first *record
	for _, r := range s.records {
		if first == nil || keptUntil(&r.Finding, &first.Finding) < 0 {
			first = r
		}
	}
	if first.Finding.worth() > f.worth() {
		return false
	}
	s.drop(first)
	return true
}
