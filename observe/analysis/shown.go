package analysis

import (
	"slices"

	"bareclaw/observe/rules"
)

// Bounds of what is remembered of findings of the whole app.
const (
	maxShown          = 1000 // findings; when there are more, all are determined again
	maxShownEndpoints = 100  // of a finding
)

// showing returns, for each match of the whole app, the endpoints that show it together in this run: they are the only ones
// that can prove that it is gone. When a finding is first matched in a run, the rule itself tells which endpoints'
// latest requests show it too. From then on each endpoint that shows it is added with its own match.
func (a *Analyst) showing(rule *rules.Rule, s *rules.Subject, matches []rules.Match) map[string][]string {
	ids := globalIDs(rule, matches)
	isUnknown := func(id string) bool { return a.shown[id] == nil }
	if slices.ContainsFunc(ids, isUnknown) {
		a.determineShown(rule, s, ids)
	}
	showing := map[string][]string{}
	for _, id := range ids {
		if !slices.Contains(a.shown[id], s.Request.Endpoint) {
			endpoints := slices.Insert(slices.Clone(a.shown[id]), 0, s.Request.Endpoint)
			a.shown[id] = endpoints[:min(len(endpoints), maxShownEndpoints)]
		}
		showing[id] = a.shown[id]
	}
	return showing
}

// determineShown determines which endpoints beside that of the request show findings of the whole app.
func (a *Analyst) determineShown(rule *rules.Rule, s *rules.Subject, ids []string) {
	if len(a.shown)+len(ids) > maxShown {
		clear(a.shown)
	}
	for _, id := range ids {
		a.shown[id] = []string{}
	}
	for endpoint, other := range s.Latest {
		if other == s.Request || !other.Evidence.Has(rule.Needs) {
			continue
		}
		like := repeated(alone(other)) // what all of them show together must not depend on how often each was requested
		like.Latest = s.Latest
		for _, id := range globalIDs(rule, a.ask(rule, like, false).matches) {
			if slices.Contains(ids, id) && len(a.shown[id]) < maxShownEndpoints {
				a.shown[id] = append(a.shown[id], endpoint)
			}
		}
	}
}

// globalIDs returns the ids of the findings of the whole app that are among matches.
func globalIDs(rule *rules.Rule, matches []rules.Match) []string {
	var ids []string
	for _, m := range matches {
		if m.Endpoint == rules.Global {
			ids = append(ids, rules.FindingID(rule.ID, rules.Global, m.Description))
		}
	}
	return ids
}
