package analysis

import (
	"slices"

	"bareclaw/observe/rules"
)

// shown are the endpoints that show a finding of the whole app together, when they were last determined.
type shown struct {
	known     int // how many endpoints were known in this run
	endpoints []string
}

// maxShown is how many findings of the whole app have their endpoints remembered; when there are more, all
// are determined again.
const maxShown = 1000

// showing returns, for each match of the whole app, the endpoints whose latest requests have it too, the one of the
// request first. They are the only ones that can prove that the problem is gone. To have them from the rule itself costs a
// check of each endpoint, which is done again only when there is another endpoint.
func (a *Analyst) showing(rule *rules.Rule, s *rules.Subject, matches []rules.Match) map[string][]string {
	ids := globalIDs(rule, matches)
	isStale := func(id string) bool {
		before := a.shown[id]
		return before == nil || before.known != len(s.Latest) || !slices.Contains(before.endpoints, s.Request.Endpoint)
	}
	if slices.ContainsFunc(ids, isStale) {
		a.determineShown(rule, s, ids)
	}
	showing := map[string][]string{}
	for _, id := range ids {
		showing[id] = a.shown[id].endpoints
	}
	return showing
}

// determineShown determines the endpoints of findings of the whole app that a request shows.
func (a *Analyst) determineShown(rule *rules.Rule, s *rules.Subject, ids []string) {
	if len(a.shown)+len(ids) > maxShown {
		clear(a.shown)
	}
	for _, id := range ids {
		a.shown[id] = &shown{
			known:     len(s.Latest),
			endpoints: []string{s.Request.Endpoint},
		}
	}
	for endpoint, other := range s.Latest {
		if other == s.Request || !other.Evidence.Has(rule.Needs) {
			continue
		}
		like := repeated(alone(other)) // what all of them show together must not depend on how often each was requested
		like.Latest = s.Latest
		for _, id := range globalIDs(rule, a.ask(rule, like, false).matches) {
			if slices.Contains(ids, id) {
				a.shown[id].endpoints = append(a.shown[id].endpoints, endpoint)
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
