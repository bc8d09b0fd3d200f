package capture

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

// maxEndpoints is how many endpoints have figures of their own.
const maxEndpoints = 1000

// OtherEndpoints is the name under which endpoints count beyond the first 1,000.
const OtherEndpoints = "other"

// Figures are what requests to an endpoint were like. Percentiles are exact to about 5 %.
type Figures struct {
	Requests int
	Failed   int // had a status from 400, or none because the app failed
	P50      time.Duration
	P95      time.Duration
	Size     int64     // of the responses' bodies, in bytes, all together
	Traced   int       // requests of which the app told its steps
	Queries  int       // of the traced requests
	Last     time.Time // when the latest request ended
}

// ErrorRate returns the part of the requests that failed, from 0 to 1.
func (f Figures) ErrorRate() float64 {
	if f.Requests == 0 {
		return 0
	}
	return float64(f.Failed) / float64(f.Requests)
}

// QueriesPerRequest returns how many queries a request takes on average, or -1 if nobody told.
func (f Figures) QueriesPerRequest() float64 {
	if f.Traced == 0 {
		return -1
	}
	return float64(f.Queries) / float64(f.Traced)
}

// EndpointFigures are the figures of an endpoint.
type EndpointFigures struct {
	Endpoint string
	Run      Figures // of the latest run of the app
	Total    Figures // since the store is there
}

// Endpoints returns the figures of all endpoints, in the order of their names.
func (s *Store) Endpoints() []EndpointFigures {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]EndpointFigures, 0, len(s.endpoints))
	for _, e := range s.endpoints {
		all = append(all, EndpointFigures{
			Endpoint: e.name,
			Run:      e.run.result(),
			Total:    e.total.result(),
		})
	}
	slices.SortFunc(all, func(a, b EndpointFigures) int { return strings.Compare(a.Endpoint, b.Endpoint) })
	return all
}

// A Replay is a request that can be sent again, with the secrets that it had. It must not leave the process.
type Replay struct {
	Method string
	URL    string // path and query
	Header http.Header
	Status int // of the response
}

// maxReplay bounds what is kept for a Replay, in bytes.
const maxReplay = 8 << 10

// Replay returns the latest GET or HEAD request to the endpoint that got a response.
func (s *Store) Replay(name string) (r Replay, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.endpoints[name]
	if e == nil || e.replay.Method == "" {
		return Replay{}, false
	}
	return e.replay, true
}

// An endpoint is what is counted of requests to it.
type endpoint struct {
	name   string
	run    counts
	total  counts
	replay Replay
}

// endpoints are those that are counted, by name.
type endpoints map[string]*endpoint

// NotFound stands for the path in the name of the endpoint that requests share for which the app has no route, such as
// "GET (not found)".
const NotFound = "(not found)"

// nameFor returns the name of the endpoint of a request that has ended, and that asked for the one of the name. A
// request answered 404 is for no route if none to the same endpoint has been answered otherwise yet: whoever tries out
// paths gets nothing but 404, and each path would be an endpoint, with findings of its own. Where a route has
// answered, 404 is about what it was asked for, as a user that is not there, and the endpoint stays the route's.
func (e endpoints) nameFor(r *Request, asked string) string {
	if r.Status == http.StatusNotFound && e[asked] == nil {
		return r.Method + " " + NotFound
	}
	return asked
}

// of returns the endpoint of the name, or the one that stands for those beyond the bound.
func (e endpoints) of(name string) *endpoint {
	if e[name] == nil && len(e) >= maxEndpoints {
		name = OtherEndpoints
	}
	if e[name] == nil {
		e[name] = &endpoint{name: name}
	}
	return e[name]
}

// count counts a request that has ended.
func (e *endpoint) count(raw *Raw, inRun bool) {
	e.total.count(&raw.Request)
	if inRun {
		e.run.count(&raw.Request)
	}
	r := &raw.Request
	isSafe := r.Method == http.MethodGet || r.Method == http.MethodHead
	isShort := len(r.URL)+headerSize(r.Sent.Header) <= maxReplay
	if isSafe && isShort && r.End == Complete && r.Span != (SpanID{}) {
		e.replay = Replay{
			Method: r.Method,
			URL:    r.URL,
			Header: r.Sent.Header,
			Status: r.Status,
		}
	}
}

// countSteps counts of how many requests the app told its steps, and of how many queries.
func (e *endpoint) countSteps(traced, queries int, inRun bool) {
	e.total.countSteps(traced, queries)
	if inRun {
		e.run.countSteps(traced, queries)
	}
}

// counts are Figures, and how long requests took.
type counts struct {
	figures Figures
	took    [buckets]uint32
}

func (c *counts) count(r *Request) {
	c.figures.Requests++
	c.figures.Size += r.Received.Size
	c.figures.Last = r.Started.Add(r.Took)
	if r.Status >= http.StatusBadRequest || r.End == AppFailed {
		c.figures.Failed++
	}
	isAnswer := r.End == Complete || r.End == AppFailed && r.Status != 0
	if isAnswer {
		c.took[bucket(r.Took)]++
	}
}

func (c *counts) countSteps(traced, queries int) {
	c.figures.Traced += traced
	c.figures.Queries += queries
}

func (c *counts) result() Figures {
	f := c.figures
	f.P50 = c.percentile(0.50)
	f.P95 = c.percentile(0.95)
	return f
}

// Buckets are 8 for each doubling of the time, from 1/16 ms on.
const (
	bucketsPerDoubling = 8
	buckets            = 22 * bucketsPerDoubling
	firstBucket        = time.Millisecond / 16
)

func bucket(took time.Duration) int {
	if took <= firstBucket {
		return 0
	}
	at := math.Log2(float64(took)/float64(firstBucket)) * bucketsPerDoubling
	return min(buckets-1, int(at))
}

// percentile returns the time within which so many of the requests were answered.
func (c *counts) percentile(part float64) time.Duration {
	all := 0
	for _, n := range c.took {
		all += int(n)
	}
	if all == 0 {
		return 0
	}
	want := int(math.Ceil(part * float64(all)))
	at := 0
	for sum := int(c.took[0]); sum < want; sum += int(c.took[at]) {
		at++
	}
	middle := math.Exp2((float64(at) + 0.5) / bucketsPerDoubling)
	return time.Duration(float64(firstBucket) * middle)
}
