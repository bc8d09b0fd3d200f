package tools

import (
	"context"
	"fmt"

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

	SortBy api.Order `json:"sort_by"`
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
	shown, total, err := a.client.Endpoints(ctx, api.EndpointChoice{
		Order: args.SortBy,
		Limit: maxEndpoints,
	})
	if err != nil {
		return nil, err
	}
	v := &endpointsView{
		App:       a.Dir,
		Total:     total,
		Endpoints: make([]shownEndpoint, len(shown)),
	}
	for i := range shown {
		v.Endpoints[i] = shownEndpoint{
			Endpoint: oneLine(shown[i].Endpoint, maxName),
			Summary:  shown[i].Summary,
		}
	}
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
