package tools

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"bareclaw/internal/humanize"
	"bareclaw/observe/api"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

// A shownFinding is a finding as tools show it.
type shownFinding struct {
	ID          string             `json:"id"`
	Severity    rules.Severity     `json:"severity"`
	State       findings.State     `json:"state"`
	Rule        string             `json:"rule"`
	Title       string             `json:"title"`
	Endpoint    string             `json:"endpoint"`
	Description string             `json:"description"`
	Advice      string             `json:"advice"`
	Likely      bool               `json:"likely,omitempty"`
	Occurrences int                `json:"occurrences"`
	CleanHits   int                `json:"cleanHits"`
	Regressed   bool               `json:"regressed,omitempty"`
	Reopens     int                `json:"reopens,omitempty"`
	LastSeen    float64            `json:"lastSeen"` // milliseconds since 1970
	Fix         findings.FixStatus `json:"fix,omitempty"`
	FixNote     string             `json:"fixNote,omitempty"`
	FixFailed   bool               `json:"fixFailed,omitempty"`
	Requests    []string           `json:"requests,omitempty"`
	Context     *shownRequest      `json:"context,omitempty"`

	as      *api.Finding // as the API has it
	foreign bool         // title and advice are words of the app too
}

// showFinding returns a finding of an app.
func (a *app) showFinding(f *api.Finding) shownFinding {
	out := shownFinding{
		ID:          oneLine(f.IssueID, maxID),
		Severity:    f.Traits().Severity,
		State:       f.Now(),
		Rule:        oneLine(f.Issue.Rule, maxName),
		Title:       oneLine(f.Issue.Title, maxName),
		Endpoint:    oneLine(cmp.Or(f.Issue.Endpoint, rules.Global), maxName),
		Description: oneLine(f.Issue.Desc, maxWords),
		Advice:      oneLine(f.Issue.Hint, maxWords),
		Likely:      f.Issue.Likely,
		Occurrences: f.Occurrences,
		CleanHits:   f.CleanHitsSinceLastSeen,
		Regressed:   f.Regressed || f.State == "regressed", // of brakit
		Reopens:     f.ReopenCount,
		LastSeen:    f.LastSeenAt,
		FixFailed:   f.FixFailed,
		as:          f,
		foreign:     a.Observer == "",
	}
	if f.AIStatus != nil && findings.FixStatus(*f.AIStatus).IsKnown() {
		out.Fix = findings.FixStatus(*f.AIStatus)
	}
	if f.AINotes != nil {
		out.FixNote = oneLine(*f.AINotes, maxWords)
	}
	for _, r := range f.RequestIDs {
		out.Requests = append(out.Requests, oneLine(r, maxID))
	}
	return out
}

// rank orders severities, the worst first.
func rank(s rules.Severity) int {
	return slices.Index([]rules.Severity{rules.Critical, rules.Warning, rules.Info}, s)
}

// findings returns the chosen ones of the app, the worst first, and of one severity the latest first, and how many
// there are of each kind.
func (a *app) findings(ctx context.Context, choice api.Choice) ([]shownFinding, []api.Tally, error) {
	all, tallies, err := a.client.Findings(ctx, choice)
	if err != nil {
		return nil, nil, err
	}
	shown := make([]shownFinding, len(all))
	for i := range all {
		shown[i] = a.showFinding(&all[i])
	}
	slices.SortStableFunc(shown, func(x, y shownFinding) int {
		return cmp.Or(cmp.Compare(rank(x.Severity), rank(y.Severity)), cmp.Compare(y.LastSeen, x.LastSeen), cmp.Compare(x.ID, y.ID))
	})
	if choice.Limit > 0 && len(shown) > choice.Limit {
		shown = shown[:choice.Limit]
	}
	return shown, tallies, nil
}

// words returns a text of a rule. Those of an observer are the gateway's own.
func (f *shownFinding) words(text string) string {
	if f.foreign {
		return data(text, maxWords)
	}
	return text
}

// head returns the first line of a finding.
func (f *shownFinding) head() string {
	return fmt.Sprintf("[%s] %s on %s", f.Severity, f.words(f.Title), data(f.Endpoint, maxName))
}

// write adds the finding to a page.
func (f *shownFinding) write(p *page) {
	p.line("")
	p.line("%s", f.head())
	state := string(f.State)
	if f.Regressed {
		state += fmt.Sprintf(", came back after it was resolved (%d×)", max(f.Reopens, 1))
	}
	p.line("- id %s: %s; seen in %s, last %s", id(f.ID), state, humanize.Count(f.Occurrences, "request"), clock(f.LastSeen))
	p.line("- %s", data(f.Description, maxWords))
	if f.Likely {
		p.line("- likely: the app does not tell the values that would prove it")
	}
	if f.Fix != "" || f.FixFailed {
		said := cmp.Or(f.Fix, findings.FixBegun)
		if f.FixFailed {
			said += ", but it was seen again after that"
		}
		p.line("- fix: %s %s", said, data(f.FixNote, maxWords))
	}
	if f.Advice != "" {
		p.line("- do: %s", f.words(f.Advice))
	}
	if f.Context != nil {
		f.Context.brief(p)
	}
}
