package api

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// An Order says by which figure endpoints are ordered, the highest first. Others than these are ByP95.
type Order string

// The orders.
const (
	ByP95       Order = "p95"
	ByErrorRate Order = "error_rate"
	ByQueries   Order = "query_count"
	ByRequests  Order = "requests"
)

// figure returns the figure that an endpoint is ordered by.
func (o Order) figure(s *Summary) float64 {
	switch o {
	case ByErrorRate:
		return s.ErrorRate
	case ByQueries:
		return s.AvgQueryCount
	case ByRequests:
		return float64(s.TotalRequests)
	}
	return s.P95Ms
}

// An EndpointChoice chooses the first endpoints of an order.
type EndpointChoice struct {
	Order Order
	Limit int // 0: no limit
}

// paramOrder is the parameter of the order, which brakit does not know, like paramLimit: it returns all endpoints.
const paramOrder = "order"

func (c EndpointChoice) query() url.Values {
	return url.Values{
		paramOnly:  {onlySummary},
		paramOrder: {string(c.Order)},
		paramLimit: {strconv.Itoa(c.Limit)},
	}
}

// endpointChoiceOf returns the choice of a request.
func endpointChoiceOf(r *http.Request) EndpointChoice {
	query := r.URL.Query()
	limit, _ := strconv.Atoi(query.Get(paramLimit)) // 0 after an error
	return EndpointChoice{
		Order: Order(query.Get(paramOrder)),
		Limit: max(limit, 0),
	}
}

// of returns those of the endpoints that are chosen, in the order.
func (c EndpointChoice) of(all []LiveEndpoint) []LiveEndpoint {
	slices.SortFunc(all, func(x, y LiveEndpoint) int {
		return cmp.Or(
			cmp.Compare(c.Order.figure(&y.Summary), c.Order.figure(&x.Summary)),
			strings.Compare(x.Endpoint, y.Endpoint),
		)
	})
	if c.Limit > 0 {
		all = all[:min(c.Limit, len(all))]
	}
	return all
}
