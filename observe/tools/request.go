package tools

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"bareclaw/internal/humanize"
	"bareclaw/observe/api"
)

// A shownRequest is a request as tools show it.
type shownRequest struct {
	ID         string       `json:"id"`
	Method     string       `json:"method"`
	URL        string       `json:"url"`
	Endpoint   string       `json:"endpoint,omitempty"`
	StatusCode int          `json:"statusCode"`
	DurationMs float64      `json:"durationMs"`
	StartedAt  float64      `json:"startedAt"`
	Counts     api.Counts   `json:"counts"`
	Evidence   []string     `json:"evidence,omitempty"`
	Timeline   []shownEvent `json:"timeline"`
	More       int          `json:"more,omitempty"` // events that are left out

	Headers         map[string]string `json:"headers,omitempty"`
	ResponseHeaders map[string]string `json:"responseHeaders,omitempty"`
	RequestBody     string            `json:"requestBody,omitempty"`
	ResponseBody    string            `json:"responseBody,omitempty"`
}

// A shownEvent is something that the app told of a request.
type shownEvent struct {
	Type       string  `json:"type"`
	AfterMs    float64 `json:"afterMs"` // the request began
	DurationMs float64 `json:"durationMs,omitempty"`
	Text       string  `json:"text"`
	Note       string  `json:"note,omitempty"` // such as a status
}

// maxHeaders bounds the headers of a message that are shown.
const maxHeaders = 30

// showRequest returns a request with what happened during it.
func (a *app) showRequest(ctx context.Context, r api.Request) (*shownRequest, error) {
	activity, err := a.client.Activity(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	out := &shownRequest{
		ID:              oneLine(r.ID, maxID),
		Method:          oneLine(r.Method, maxName),
		URL:             oneLine(r.URL, maxWords),
		Endpoint:        oneLine(r.Endpoint, maxName),
		StatusCode:      r.StatusCode,
		DurationMs:      r.DurationMs,
		StartedAt:       r.StartedAt,
		Counts:          activity.Counts,
		Timeline:        []shownEvent{},
		Headers:         showHeaders(r.Headers),
		ResponseHeaders: showHeaders(r.ResponseHeaders),
	}
	for _, source := range r.Evidence {
		out.Evidence = append(out.Evidence, oneLine(source, maxName))
	}
	if r.RequestBody != nil {
		out.RequestBody = oneLine(*r.RequestBody, maxWords)
	}
	if r.ResponseBody != nil {
		out.ResponseBody = oneLine(*r.ResponseBody, maxWords)
	}
	began := r.StartedAt
	if events := activity.Timeline; len(events) > 0 && events[0].Timestamp-began > longestRequest {
		began = events[0].Timestamp // brakit counts the times of requests from another moment
	}
	for i := range activity.Timeline {
		if i == MaxTimelineEvents {
			out.More = len(activity.Timeline) - i
			break
		}
		out.Timeline = append(out.Timeline, showEvent(&activity.Timeline[i], began))
	}
	return out, nil
}

// longestRequest is longer than a request takes until the app first tells something, in milliseconds.
const longestRequest = 24 * 3600 * 1000

func showHeaders(all map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range all {
		if len(out) < maxHeaders {
			out[oneLine(name, maxName)] = oneLine(value, maxName)
		}
	}
	return out
}

// otherKind is shown of events of a kind that is not known.
const otherKind = "event"

// kindOf returns the kind of an event.
func kindOf(e *api.Event) string {
	known := []string{api.KindQuery, api.KindFetch, api.KindLog, api.KindError}
	if slices.Contains(known, e.Type) {
		return e.Type
	}
	return otherKind
}

func showEvent(e *api.Event, began float64) shownEvent {
	d := &e.Data
	out := shownEvent{
		Type:       kindOf(e),
		AfterMs:    max(0, e.Timestamp-began),
		DurationMs: d.DurationMs,
	}
	switch e.Type {
	case api.KindQuery:
		out.Text = cmp.Or(d.SQL, strings.TrimSpace(d.Operation+" "+cmp.Or(d.Table, d.Model)))
		if d.RowCount != nil {
			out.Note = humanize.Count(*d.RowCount, "row")
		}
		if d.Failed {
			out.Note = "failed"
		}
	case api.KindFetch:
		out.Text = d.Method + " " + d.URL
		out.Note = fmt.Sprint(d.StatusCode)
	case api.KindError:
		out.Text = strings.TrimSpace(d.Name + ": " + d.Message + " " + d.Stack)
	default:
		out.Text = d.Message
		out.Note = oneLine(d.Level, maxName)
	}
	out.Text = oneLine(out.Text, maxWords)
	return out
}

// line returns an event as a line of a list.
func (e *shownEvent) line() string {
	text := fmt.Sprintf("- %s after %s", e.Type, ms(e.AfterMs))
	if e.DurationMs > 0 {
		text += ", took " + ms(e.DurationMs)
	}
	text += ": " + data(e.Text, maxWords)
	if e.Note != "" {
		text += " " + data(e.Note, maxName)
	}
	return text
}

// brief adds a line on the request, with its first queries and calls.
func (r *shownRequest) brief(p *page) {
	p.line("- request %s: %s, status %d, %s", id(r.ID), ms(r.DurationMs), r.StatusCode, r.counted())
	shown := map[string]int{}
	most := map[string]int{api.KindQuery: maxQueries, api.KindFetch: maxFetches, api.KindError: 1}
	for i := range r.Timeline {
		e := &r.Timeline[i]
		if shown[e.Type] < most[e.Type] {
			shown[e.Type]++
			p.line("  %s", e.line())
		}
	}
}

// counted says what the app told.
func (r *shownRequest) counted() string {
	c := r.Counts
	if c == (api.Counts{}) {
		return "nothing told by the app"
	}
	return strings.Join([]string{humanize.Count(c.Queries, "query"), fmt.Sprintf("%d outgoing calls", c.Fetches), humanize.Count(c.Logs, "log line"), humanize.Count(c.Errors, "error")}, ", ")
}

// text implements view.
func (r *shownRequest) text(p *page) {
	p.line("Request %s: %s %s", id(r.ID), data(r.Method, maxName), data(r.URL, maxWords))
	p.line("- status %d after %s, at %s; %s", r.StatusCode, ms(r.DurationMs), clock(r.StartedAt), r.counted())
	for _, h := range []struct {
		of  string
		all map[string]string
	}{{"request", r.Headers}, {"response", r.ResponseHeaders}} {
		if len(h.all) > 0 {
			p.line("- headers of the %s: %s", h.of, data(joined(h.all), maxWords))
		}
	}
	if r.RequestBody != "" {
		p.line("- body: %s", data(r.RequestBody, maxWords))
	}
	if r.ResponseBody != "" {
		p.line("- response: %s", data(r.ResponseBody, maxWords))
	}
	if len(r.Timeline) > 0 {
		p.line("")
		p.line("What happened meanwhile:")
	}
	for i := range r.Timeline {
		p.line("%s", r.Timeline[i].line())
	}
	if r.More > 0 {
		p.line("- and %d more", r.More)
	}
}

func joined(headers map[string]string) string {
	var all []string
	for name, value := range headers {
		all = append(all, name+": "+value)
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}
