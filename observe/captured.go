package observe

import (
	"bareclaw/observe/api"
	"bareclaw/observe/capture"
)

// captured shows a store to clients of the API.
type captured struct{ *capture.Store }

// Recent implements [api.Captured].
func (c captured) Recent() []capture.Request {
	found := c.Requests(capture.Filter{})
	all := make([]capture.Request, 0, len(found))
	for _, r := range found {
		all = append(all, *r)
	}
	return all
}

// Request implements [api.Captured].
func (c captured) Request(id string) (capture.Request, bool) {
	r, ok := c.Store.Request(id)
	if !ok {
		return capture.Request{}, false
	}
	return *r, true
}

// Figures implements [api.Captured].
func (c captured) Figures() []api.Figures {
	var all []api.Figures
	for _, e := range c.Endpoints() {
		all = append(all, api.Figures{
			Endpoint:  e.Endpoint,
			Requests:  e.Total.Requests,
			ErrorRate: e.Total.ErrorRate(),
			P50:       e.Total.P50,
			P95:       e.Total.P95,
			Queries:   e.Total.QueriesPerRequest(),
		})
	}
	return all
}
