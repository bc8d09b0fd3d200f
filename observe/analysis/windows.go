package analysis

import (
	"slices"
	"time"

	"bareclaw/observe/capture"
	"bareclaw/observe/rules"
)

// Bounds of what is kept to compare requests with.
const (
	recentRequests = 20              // of an endpoint
	flowGap        = 5 * time.Second // between the beginnings of a flow's requests
	maxFlow        = 100             // requests of a client
	maxEndpoints   = 300
	maxRequests    = 2000    // in all windows
	maxBytes       = 8 << 20 // of texts, in all windows
)

// windows are the latest requests of one run of the app, without their bodies, their logs and the words of their faults. Other requests see
// one in Recent and Latest only once it is settled: until then it looks better than it is. In Arrived they see it at once.
type windows struct {
	run     int
	seen    int // counts requests
	bytes   int
	kept    map[string]*kept // by the id of the request
	queue   []*kept          // those of kept, the first seen first
	settled map[string][]*kept
	arrived map[string][]*kept          // all, by endpoint, in the order of their first look
	latest  map[string]*capture.Request // the last of each of settled
	clients map[string][]*kept          // in the order in which they began

	// These are used again for each subject.
	recent  []*capture.Request
	arrival []*capture.Request
	flow    []*capture.Request
}

// kept is a request in windows.
type kept struct {
	request  *capture.Request
	endpoint string // those of the first look
	client   string
	number   int // counts requests in the order of their first look
	bytes    int
	settled  bool
}

func newWindows(run int) *windows {
	return &windows{
		run:     run,
		kept:    map[string]*kept{},
		settled: map[string][]*kept{},
		arrived: map[string][]*kept{},
		latest:  map[string]*capture.Request{},
		clients: map[string][]*kept{},
	}
}

// subject returns a request beside those to compare it with, until the next call of keep.
func (w *windows) subject(r *capture.Request) *rules.Subject {
	k := w.kept[r.ID]
	w.recent = latestTo(w.recent, w.settled[r.Endpoint], r, k)
	w.arrival = latestTo(w.arrival, w.arrived[r.Endpoint], r, k)
	w.latest[r.Endpoint] = r
	return &rules.Subject{
		Request: r,
		Recent:  w.recent[max(0, len(w.recent)-recentRequests):],
		Arrived: w.arrival[max(0, len(w.arrival)-recentRequests):],
		Latest:  w.latest,
		Flow:    w.flowTo(r, k),
	}
}

// latestTo returns the requests of a window and behind them a request, which is kept as k, in the memory of list.
func latestTo(list []*capture.Request, window []*kept, r *capture.Request, k *kept) []*capture.Request {
	list = list[:0]
	for _, other := range window {
		if other != k {
			list = append(list, other.request)
		}
	}
	return append(list, r)
}

// flowTo returns the flow that leads up to a request, which is kept as k; nil: it is not kept yet. Requests whose first
// look came later than that of k do not belong to it. Those that began later but ended earlier do.
func (w *windows) flowTo(r *capture.Request, k *kept) []*capture.Request {
	w.flow = append(w.flow[:0], r)
	first := r.Started
	for _, other := range slices.Backward(w.clients[r.Client]) {
		gap := first.Sub(other.request.Started)
		if gap > flowGap {
			break
		}
		if other == k || k != nil && other.number > k.number || gap < -flowGap {
			continue
		}
		if gap > 0 {
			first = other.request.Started
		}
		w.flow = append(w.flow, other.request)
	}
	slices.Reverse(w.flow)
	return w.flow
}

// keep keeps a request for those that come later, which must be of the windows' run.
func (w *windows) keep(r *capture.Request, settled bool) {
	k := w.kept[r.ID]
	if k == nil {
		w.seen++
		k = &kept{
			request:  r,
			endpoint: r.Endpoint,
			client:   r.Client,
			number:   w.seen,
		}
		w.kept[r.ID] = k
		w.queue = append(w.queue, k)
		w.arrived[k.endpoint] = withLast(w.arrived[k.endpoint], k)
		w.addToClient(k)
	}
	k.request = slim(r)
	w.bytes -= k.bytes
	k.bytes = size(k.request)
	w.bytes += k.bytes
	if settled && !k.settled {
		k.settled = true
		w.settled[k.endpoint] = withLast(w.settled[k.endpoint], k)
	}
	w.updateLatest(k.endpoint)
	if r.Endpoint != k.endpoint {
		w.updateLatest(r.Endpoint)
	}
	for len(w.queue) > maxRequests || w.bytes > maxBytes {
		w.dropFirst()
	}
	if len(w.settled) > maxEndpoints {
		w.dropEndpoint()
	}
}

// withLast returns a window with one more request behind the others, and without the first one if it is full.
func withLast(window []*kept, k *kept) []*kept {
	if len(window) == recentRequests {
		window = slices.Delete(window, 0, 1)
	}
	return append(window, k)
}

// slim returns a copy of a request without what rules look for in the request itself alone. Of its faults it has one
// without words, if there are any.
func slim(r *capture.Request) *capture.Request {
	s := *r
	s.Sent.Body = nil
	s.Received.Body = nil
	s.Logs = nil
	s.Faults = nil
	if len(r.Faults) > 0 {
		s.Faults = []capture.Fault{{}}
	}
	return &s
}

// size returns about how many bytes a request takes.
func size(r *capture.Request) int {
	const (
		request = 1024
		step    = 256 // a query or a fetch, and what the runtime needs for it
	)
	total := request + len(r.URL)
	for _, header := range []map[string][]string{r.Sent.Header, r.Received.Header} {
		for name, values := range header {
			total += len(name)
			for _, value := range values {
				total += len(value)
			}
		}
	}
	for i := range r.Queries {
		q := &r.Queries[i]
		total += step + len(q.Text) + len(q.Shape) + len(q.Values)
	}
	for i := range r.Fetches {
		total += step + len(r.Fetches[i].URL)
	}
	return total
}

// addToClient adds a request to those of its client.
func (w *windows) addToClient(k *kept) {
	if k.client == "" {
		return
	}
	flow := w.clients[k.client]
	at := len(flow)
	for at > 0 && flow[at-1].request.Started.After(k.request.Started) {
		at--
	}
	flow = slices.Insert(flow, at, k)
	w.clients[k.client] = flow[max(0, len(flow)-maxFlow):]
}

// updateLatest notes the latest settled request to an endpoint.
func (w *windows) updateLatest(endpoint string) {
	recent := w.settled[endpoint]
	if len(recent) == 0 {
		delete(w.settled, endpoint)
		delete(w.latest, endpoint)
		return
	}
	w.latest[endpoint] = recent[len(recent)-1].request
}

// dropFirst drops the request that was seen first.
func (w *windows) dropFirst() {
	k := w.queue[0]
	w.queue[0] = nil
	w.queue = w.queue[1:]
	delete(w.kept, k.request.ID)
	w.bytes -= k.bytes
	if k.settled {
		w.settled[k.endpoint] = without(w.settled[k.endpoint], k)
		w.updateLatest(k.endpoint)
	}
	arrived := without(w.arrived[k.endpoint], k)
	w.arrived[k.endpoint] = arrived
	if len(arrived) == 0 {
		delete(w.arrived, k.endpoint)
	}
	flow := without(w.clients[k.client], k)
	w.clients[k.client] = flow
	if len(flow) == 0 {
		delete(w.clients, k.client)
	}
}

// without removes a request from a window.
func without(window []*kept, k *kept) []*kept {
	return slices.DeleteFunc(window, func(other *kept) bool { return other == k })
}

// dropEndpoint drops the window of the endpoint that was not requested for the longest time.
func (w *windows) dropEndpoint() {
	oldest := ""
	number := w.seen + 1
	for endpoint, recent := range w.settled {
		if latest := recent[len(recent)-1]; latest.number < number {
			oldest = endpoint
			number = latest.number
		}
	}
	delete(w.settled, oldest)
	w.updateLatest(oldest)
}
