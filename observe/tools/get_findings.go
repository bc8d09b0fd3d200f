package tools

import (
	"context"
	"errors"
	"sync"

	"bareclaw/core/tools"
	"bareclaw/internal/humanize"
	"bareclaw/observe/api"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

func getFindings(f *finder) tools.Tool {
	return tools.Tool{
		Name: "get_findings",
		Description: "List what is wrong with the running web app: security, performance and reliability problems that its real requests have shown, " +
			"each with an id, the evidence and what to do. Without state: all that are not resolved, without those that are reported as wont_fix.",
		Input: object(`"severity":{"enum":["critical","warning","info"],"description":"By default critical and warning."},` +
			`"state":{"enum":["open","fixing","resolved"]},` + appProperty),
		Annotations: tools.Annotations{Title: "List findings of the app", ReadOnly: true, Idempotent: true},
		Timeout:     callTimeout,
		ByName:      true,
		Reach:       reach[findingsArgs](f),
		Handle:      handler(f, listFindings),
	}
}

type findingsArgs struct {
	appArgs

	Severity rules.Severity `json:"severity"`
	State    findings.State `json:"state"`
}

// choice returns what is asked for.
func (a *findingsArgs) choice() api.Choice {
	c := api.Choice{
		Severities: EnrichmentSeverityFilter(),
		State:      a.State,
		Pending:    a.State == "",
		Limit:      maxFindings,
	}
	if a.Severity != "" {
		c.Severities = []rules.Severity{a.Severity}
	}
	return c
}

// A findingsView is the result of get_findings.
type findingsView struct {
	App      string         `json:"app"`
	Total    int            `json:"total"`
	Findings []shownFinding `json:"findings"`
	Hidden   int            `json:"hidden,omitempty"` // that do not have the severity or state
}

func listFindings(ctx context.Context, a *app, args findingsArgs) (view, error) {
	choice := args.choice()
	chosen, tallies, err := a.findings(ctx, choice)
	if err != nil {
		return nil, err
	}
	v := &findingsView{App: a.Dir, Findings: chosen}
	for _, t := range tallies {
		if choice.Has(t.Traits) {
			v.Total += t.Count
		} else {
			v.Hidden += t.Count
		}
	}
	a.enrich(ctx, v.Findings[:min(len(v.Findings), maxContexts)])
	return v, nil
}

// enrich adds to findings what happened during a request that had them. Where there is no such request any more,
// or the app does not say, nothing is added.
func (a *app) enrich(ctx context.Context, all []shownFinding) {
	var asking sync.WaitGroup
	for i := range all {
		f := &all[i]
		asking.Go(func() {
			r, err := a.requestOf(ctx, f)
			if err == nil {
				f.Context, _ = a.showRequest(ctx, r)
			}
		})
	}
	asking.Wait()
}

// requestOf returns the latest request that had a finding, or, where the API does not say which had, the latest
// to the endpoint.
func (a *app) requestOf(ctx context.Context, f *shownFinding) (api.Request, error) {
	if ids := f.as.RequestIDs; len(ids) > 0 {
		r, err := a.client.Request(ctx, ids[len(ids)-1])
		if !errors.Is(err, api.ErrNoRequest) {
			return r, err
		}
	}
	if f.as.Issue.Endpoint == "" {
		return api.Request{}, api.ErrNoRequest
	}
	return a.client.Latest(ctx, f.as.Issue.Endpoint)
}

func (v *findingsView) text(p *page) {
	if v.Total == 0 {
		p.line("No findings of that kind in %s. The app has none, or has not had the requests that would show them.", data(v.App, maxWords))
	} else {
		p.line("%s in %s.", humanize.Count(v.Total, "finding"), data(v.App, maxWords))
	}
	for i := range v.Findings {
		v.Findings[i].write(p)
	}
	if more := v.Total - len(v.Findings); more > 0 {
		p.line("")
		p.line("%d more are not shown: choose a severity or state.", more)
	}
	if v.Hidden > 0 {
		p.line("")
		p.line("Left out: %s with another severity or state, or reported as wont_fix.", humanize.Count(v.Hidden, "finding"))
	}
}
