package tools

import (
	"context"
	"fmt"

	"bareclaw/core/tools"
	"bareclaw/internal/humanize"
	"bareclaw/observe/api"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

func getReport(f *finder) tools.Tool {
	return tools.Tool{
		Name:        "get_report",
		Description: "Report how the running web app is: how many findings are open, being fixed and resolved, the worst ones, and how many requests were seen.",
		Input:       object(appProperty),
		Annotations: tools.Annotations{Title: "Report on the app", ReadOnly: true, Idempotent: true},
		Timeout:     callTimeout,
		ByName:      true,
		Reach:       reach[appArgs](f),
		Handle:      handler(f, report),
	}
}

// A reportView is the result of get_report.
type reportView struct {
	App       string                 `json:"app"`
	Endpoints int                    `json:"endpoints"`
	Requests  int                    `json:"requests"`
	States    map[findings.State]int `json:"states"`
	Open      map[rules.Severity]int `json:"open"` // findings, by severity
	WontFix   int                    `json:"wontFix"`
	Critical  []shownFinding         `json:"critical"` // that are open
	Resolved  []shownFinding         `json:"resolved"` // the latest
}

func report(ctx context.Context, a *app, _ appArgs) (view, error) {
	worst := api.Choice{
		Severities: []rules.Severity{rules.Critical},
		State:      findings.Open,
		Pending:    true,
		Limit:      maxFindings,
	}
	critical, tallies, err := a.findings(ctx, worst)
	if err != nil {
		return nil, err
	}
	resolved, _, err := a.findings(ctx, api.Choice{State: findings.Resolved, Limit: MaxResolvedDisplay})
	if err != nil {
		return nil, err
	}
	totals, err := a.client.Totals(ctx)
	if err != nil {
		return nil, err
	}
	v := &reportView{
		App:       a.Dir,
		Endpoints: totals.Endpoints,
		Requests:  totals.Requests,
		States:    map[findings.State]int{},
		Open:      map[rules.Severity]int{},
		Critical:  critical,
		Resolved:  resolved,
	}
	for _, t := range tallies {
		v.States[t.State] += t.Count
		switch {
		case t.State != findings.Open:
		case t.WontFix:
			v.WontFix += t.Count
		default:
			v.Open[t.Severity] += t.Count
		}
	}
	return v, nil
}

func (v *reportView) text(p *page) {
	p.line("The app in %s: %s to %s seen.", data(v.App, maxWords), humanize.Count(v.Requests, "request"), humanize.Count(v.Endpoints, "endpoint"))
	open := fmt.Sprintf("%d critical, %d warning, %d info", v.Open[rules.Critical], v.Open[rules.Warning], v.Open[rules.Info])
	p.line("- open: %d (%s); %d more are reported as wont_fix", v.Open[rules.Critical]+v.Open[rules.Warning]+v.Open[rules.Info], open, v.WontFix)
	p.line("- being fixed: %d", v.States[findings.Fixing])
	p.line("- resolved: %d", v.States[findings.Resolved])
	if len(v.Critical) > 0 {
		p.line("")
		p.line("Fix first:")
	}
	for i := range v.Critical {
		f := &v.Critical[i]
		p.line("- %s (id %s): %s", f.head(), id(f.ID), data(f.Description, maxWords))
	}
	if len(v.Resolved) > 0 {
		p.line("")
		p.line("Resolved recently:")
	}
	for i := range v.Resolved {
		p.line("- %s", v.Resolved[i].head())
	}
	if more := v.States[findings.Resolved] - len(v.Resolved); more > 0 {
		p.line("- and %d more", more)
	}
}
