package tools

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"bareclaw/core/tools"
	"bareclaw/internal/humanize"
	"bareclaw/observe/api"
)

func getEndpoints(f *finder) tools.Tool {
	return tools.Tool{
		Name:        "get_endpoints",
		Description: "Show the endpoints of the running web app with their figures: requests, p95, errors, queries a request, and where the time goes.",
		Input: object(`"sort_by":{"enum":["p95","error_rate","query_count","requests"],"description":"The highest first; p95 by default."},` +
			appProperty),
		Annotations: tools.Annotations{Title: "Show endpoints of the app", ReadOnly: true, Idempotent: true},
		Timeout:     callTimeout,
		ByName:      true,
		Reach:       reach[endpointsArgs](f),
		Handle:      handler(f, listEndpoints),
	}
}

type endpointsArgs struct {
	appArgs

	SortBy string `json:"sort_by"`
}

// key returns the figure that endpoints are sorted by.
func (a *endpointsArgs) key(s *shownEndpoint) float64 {
	switch a.SortBy {
	case "error_rate":
		return s.ErrorRate
	case "query_count":
		return s.AvgQueryCount
	case "requests":
		return float64(s.TotalRequests)
	}
	return s.P95Ms
}

// A shownEndpoint is an endpoint with its figures.
type shownEndpoint struct {
	Endpoint string `json:"endpoint"`
	api.Summary
}

// An endpointsView is the result of get_endpoints.
type endpointsView struct {
	App       string          `json:"app"`
	Total     int             `json:"total"`
	Endpoints []shownEndpoint `json:"endpoints"`
}

func listEndpoints(ctx context.Context, a *app, args endpointsArgs) (view, error) {
	all, err := a.client.Endpoints(ctx)
	if err != nil {
		return nil, err
	}
	v := &endpointsView{App: a.Dir, Total: len(all), Endpoints: make([]shownEndpoint, len(all))}
	for i := range all {
		v.Endpoints[i] = shownEndpoint{oneLine(all[i].Endpoint, maxName), all[i].Summary}
	}
	slices.SortStableFunc(v.Endpoints, func(x, y shownEndpoint) int { return cmp.Compare(args.key(&y), args.key(&x)) })
	v.Endpoints = v.Endpoints[:min(len(v.Endpoints), maxEndpoints)]
	return v, nil
}

func (v *endpointsView) text(p *page) {
	if v.Total == 0 {
		p.line("No request to the app in %s has been seen. Send some to the address of the observer.", data(v.App, maxWords))
		return
	}
	p.line("%s of the app in %s:", humanize.Count(v.Total, "endpoint"), data(v.App, maxWords))
	p.line("")
	p.line("| endpoint | requests | p95 | errors | queries a request | time in queries, calls, app |")
	p.line("|---|---|---|---|---|---|")
	for i := range v.Endpoints {
		e := &v.Endpoints[i]
		queries := fmt.Sprintf("%.1f", e.AvgQueryCount)
		if e.QueriesUnknown {
			queries = "unknown"
		}
		p.line("| %s | %d | %s | %.0f %% | %s | %s, %s, %s |", data(e.Endpoint, maxName), e.TotalRequests, ms(e.P95Ms), e.ErrorRate*100, queries,
			ms(e.AvgQueryTimeMs), ms(e.AvgFetchTimeMs), ms(e.AvgAppTimeMs))
	}
	if more := v.Total - len(v.Endpoints); more > 0 {
		p.line("%d more are not shown.", more)
	}
}
