package api

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"bareclaw/observe/capture"
)

// flowGap is the time without a request after which a client's next one begins another flow.
const flowGap = 5 * time.Second

// A flow is a Flow that is made.
type flow struct {
	requests []*capture.Request
	page     string
	end      time.Time
}

// listFlows returns the requests as flows of their clients. A flow ends at a pause, or where the page changes.
func (s *Server) listFlows(*http.Request) (any, error) {
	recent := s.Captured.Requests(capture.Filter{})
	open := map[string]*flow{} // the latest of each client
	var all []*flow
	for _, r := range slices.Backward(recent) {
		f := open[r.Client]
		if f == nil || f.endsBefore(r) {
			f = &flow{}
			open[r.Client] = f
			all = append(all, f)
		}
		f.add(r)
	}
	out := FlowList{
		Total: len(all),
		Flows: []Flow{},
	}
	for _, f := range slices.Backward(all) {
		out.Flows = append(out.Flows, f.shape())
	}
	return out, nil
}

func (f *flow) endsBefore(r *capture.Request) bool {
	page := pageOf(r)
	return r.Started.Sub(f.end) > flowGap || isPage(r) || page != "" && f.page != "" && page != f.page
}

func (f *flow) add(r *capture.Request) {
	f.requests = append(f.requests, r)
	if f.page == "" {
		f.page = pageOf(r)
	}
	if end := r.Started.Add(r.Took); end.After(f.end) {
		f.end = end
	}
}

// isPage reports whether the response was a page that a browser showed.
func isPage(r *capture.Request) bool {
	return r.Method == http.MethodGet && r.Received.Media == "text/html"
}

// pageOf returns the path of the page that sent a request, or that was its response; empty: unknown.
func pageOf(r *capture.Request) string {
	if isPage(r) {
		path, _, _ := strings.Cut(r.URL, "?")
		return path
	}
	from, err := url.Parse(r.Sent.Header.Get("Referer"))
	if err != nil {
		return ""
	}
	return from.Path
}

func (f *flow) shape() Flow {
	first := f.requests[0]
	path, _, _ := strings.Cut(first.URL, "?")
	out := Flow{
		ID:              "flow-" + first.ID,
		Label:           first.Endpoint,
		StartTime:       millis(first.Started),
		TotalDurationMs: millisOf(f.end.Sub(first.Started)),
		Warnings:        []string{},
		SourcePage:      cmp.Or(f.page, path, "/"),
	}
	seen := map[string]bool{}
	repeated := 0
	for _, r := range f.requests {
		out.Requests = append(out.Requests, requestOf(r))
		out.HasErrors = out.HasErrors || r.Status >= http.StatusBadRequest || r.End == capture.AppFailed
		call := r.Method + " " + r.URL
		if seen[call] {
			repeated++
		}
		seen[call] = true
	}
	out.RedundancyPct = repeated * 100 / len(f.requests)
	return out
}
