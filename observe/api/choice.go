package api

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

// A Choice chooses findings. The zero value chooses all.
type Choice struct {
	ID         string
	Endpoint   string           // such as GET /users, or the path alone
	Severities []rules.Severity // empty: all
	State      findings.State   // empty: all
	Pending    bool             // neither resolved nor reported as wont_fix
	Limit      int              // the worst ones, and of these the latest; 0: no limit
}

// The parameters of a Choice, which brakit does not know: it returns all findings. It knows state, by which it
// would leave out open findings that it calls stale.
const (
	paramID       = "id"
	paramEndpoint = "endpoint"
	paramSeverity = "severity" // several have commas between
	paramNow      = "now"      // the state
	paramState    = "state"
	paramPending  = "pending"
	paramLimit    = "limit"
)

func (c *Choice) query() url.Values {
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	var severities []string
	for _, s := range c.Severities {
		severities = append(severities, string(s))
	}
	set(paramID, c.ID)
	set(paramEndpoint, c.Endpoint)
	set(paramSeverity, strings.Join(severities, ","))
	set(paramNow, string(c.State))
	if c.Pending {
		set(paramPending, "1")
	}
	if c.Limit > 0 {
		set(paramLimit, strconv.Itoa(c.Limit))
	}
	return query
}

// choiceOf returns the choice of a request. As in brakit, a value that there is not is one that was not given.
func choiceOf(r *http.Request) Choice {
	query := r.URL.Query()
	c := Choice{
		ID:       query.Get(paramID),
		Endpoint: query.Get(paramEndpoint),
		State:    findings.State(cmp.Or(query.Get(paramNow), query.Get(paramState))),
		Pending:  query.Has(paramPending),
	}
	if !slices.Contains([]findings.State{findings.Open, findings.Fixing, findings.Resolved}, c.State) {
		c.State = ""
	}
	for name := range strings.SplitSeq(query.Get(paramSeverity), ",") {
		if severity := rules.Severity(name); slices.Contains(severities(), severity) {
			c.Severities = append(c.Severities, severity)
		}
	}
	limit, _ := strconv.Atoi(query.Get(paramLimit)) // 0 after an error
	c.Limit = max(limit, 0)
	return c
}

// severities are all, the worst first.
func severities() []rules.Severity {
	return []rules.Severity{rules.Critical, rules.Warning, rules.Info}
}

// Traits are what findings are chosen and counted by.
type Traits struct {
	Severity rules.Severity `json:"severity"`
	State    findings.State `json:"state"`
	WontFix  bool           `json:"wontFix,omitempty"`
}

// names reports whether a finding of an id and an endpoint is chosen, whatever its traits.
func (c *Choice) names(id, endpoint string) bool {
	if c.ID != "" && c.ID != id {
		return false
	}
	return c.Endpoint == "" || strings.EqualFold(endpoint, c.Endpoint) || strings.HasSuffix(endpoint, " "+c.Endpoint)
}

// Has reports whether a finding of these traits is chosen, whatever its id and endpoint.
func (c *Choice) Has(t Traits) bool {
	switch {
	case len(c.Severities) > 0 && !slices.Contains(c.Severities, t.Severity):
		return false
	case c.State != "" && c.State != t.State:
		return false
	}
	return !c.Pending || t.State != findings.Resolved && !t.WontFix
}

// A Tally is how many findings have the same traits.
type Tally struct {
	Traits

	Count int `json:"count"`
}

// tally counts findings by their traits.
func tally(all []Traits) []Tally {
	var tallies []Tally
	for _, t := range all {
		i := slices.IndexFunc(tallies, func(known Tally) bool { return known.Traits == t })
		if i < 0 {
			i = len(tallies)
			tallies = append(tallies, Tally{Traits: t})
		}
		tallies[i].Count++
	}
	return tallies
}

// traitsOf returns the traits of a finding.
func traitsOf(f *findings.Finding) Traits {
	return Traits{
		Severity: f.Severity,
		State:    f.State,
		WontFix:  f.Fix != nil && f.Fix.Status == findings.WontFix,
	}
}

// Traits returns the traits of a finding. A severity that is unknown is a warning.
func (f *Finding) Traits() Traits {
	t := Traits{
		Severity: f.Issue.Severity,
		State:    f.Now(),
		WontFix:  f.AIStatus != nil && *f.AIStatus == string(findings.WontFix),
	}
	if !slices.Contains(severities(), t.Severity) {
		t.Severity = rules.Warning
	}
	return t
}

// compare orders findings, the worst first, and of one severity the latest first.
func compare(x, y *findings.Finding) int {
	all := severities()
	return cmp.Or(
		cmp.Compare(slices.Index(all, x.Severity), slices.Index(all, y.Severity)),
		y.LastSeen.Compare(x.LastSeen),
		strings.Compare(x.ID, y.ID),
	)
}

// listFindings returns the findings that a request chooses, and how many there are of each kind.
func (s *Server) listFindings(r *http.Request) (any, error) {
	choice := choiceOf(r)
	category := categoryIn(r)
	all := s.Findings.All()
	traits := make([]Traits, len(all))
	var chosen []*findings.Finding
	for i := range all {
		f := &all[i]
		traits[i] = traitsOf(f)
		isIn := category == "" || category == categoryOf(f.Rule)
		if isIn && choice.names(f.ID, f.Endpoint) && choice.Has(traits[i]) {
			chosen = append(chosen, f)
		}
	}
	list := FindingList{
		Total:    len(chosen),
		Findings: []Finding{},
		Tallies:  tally(traits),
	}
	if choice.Limit > 0 {
		slices.SortFunc(chosen, compare)
		chosen = chosen[:min(choice.Limit, len(chosen))]
	}
	for _, f := range chosen {
		list.Findings = append(list.Findings, findingOf(f))
	}
	return list, nil
}
