package capture

import (
	"container/list"
	"net/http"
	"slices"
	"time"
)

// A record is a request in a Store, and what the store knows of it beyond that.
type record struct {
	request  Request // as Begin had it, until kept
	run      *run
	endpoint *endpoint // that counts it, once it has ended
	size     int64

	begun   time.Time
	endedAt time.Time
	ended   bool
	kept    bool // masked, with header and bodies
	evicted bool

	// alone says that no other request may have printed at the same time, until now.
	alone bool
	place *list.Element // in output.open; nil: is not there

	steps      []SpanID // the app's, that are known in the trace
	traced     bool
	served     bool // the app's own step has ended
	unsorted   bool // signals have come out of order
	logged     bool // the app has told of a line by telemetry
	printed    bool // has a line of the app's output
	queries    int  // that the app has told of, kept or not
	lastSignal time.Time

	settled    bool
	planned    bool // is in the schedule
	index      int  // where
	due        time.Time
	isReady    bool // waits for Next
	settledNow bool // the look that waits for Next is the settled one
}

// insert adds the newest record, and makes room for it.
func (s *Store) insert(rec *record) {
	s.order = append(s.order, rec)
	s.grow(rec, sizeOf(&rec.request))
}

// grow sets how much a record takes, and makes room where the store has become too big.
func (s *Store) grow(rec *record, by int64) {
	if rec.evicted {
		return
	}
	rec.size += by
	s.bytes += by
	for len(s.order) > 1 && (len(s.order) > maxRequests || s.bytes > maxBytes) {
		s.evict(s.order[0])
	}
}

// evict forgets a record. Figures keep what they counted.
func (s *Store) evict(rec *record) {
	if rec == nil || rec.evicted {
		return
	}
	s.bytes -= rec.size
	s.joiner.remove(rec)
	s.looks.unplan(rec)
	if s.order[0] == rec {
		s.order[0] = nil
		s.order = s.order[1:]
	} else {
		s.order = slices.DeleteFunc(s.order, func(r *record) bool { return r == rec })
	}
	s.forget(rec)
}

// forget frees what was kept of the request: the record may wait for a look or for its end still.
func (s *Store) forget(rec *record) {
	if rec.ended {
		s.forgotten.add(rec.request.ID)
	}
	rec.evicted = true
	rec.request = Request{}
	rec.steps = nil
}

// sizeOf returns about how much memory a request takes, in bytes.
func sizeOf(r *Request) int64 {
	const fixed = 1500
	size := fixed + len(r.ID) + len(r.Client) + len(r.Method) + len(r.URL) + len(r.Endpoint)
	return int64(size + messageSize(&r.Sent) + messageSize(&r.Received))
}

func messageSize(m *Message) int { return headerSize(m.Header) + len(m.Media) + len(m.Body) }

func headerSize(header http.Header) int {
	const entry = 64
	size := 0
	for name, values := range header {
		size += entry + len(name)
		for _, value := range values {
			size += len(value) + entry/4
		}
	}
	return size
}

// copy returns the request as it is now.
func (r *record) copy(readsOutput bool) *Request {
	if r.unsorted {
		r.sort()
	}
	request := r.request
	if !r.kept {
		request.URL = cutText(MaskURL(request.URL))
		request.Sent = Message{}
	}
	if r.traced {
		request.Evidence |= Traced
		if r.run.queried {
			request.Evidence |= Queried
		}
	}
	isLogged := r.logged || r.traced && r.run.logged || readsOutput && r.alone
	if isLogged {
		request.Evidence |= Logged
	}
	return &request
}

// sort puts signals in the order of time. Copies that were returned before keep theirs.
func (r *record) sort() {
	r.unsorted = false
	r.request.Queries = sorted(r.request.Queries)
	r.request.Fetches = sorted(r.request.Fetches)
	r.request.Logs = sorted(r.request.Logs)
	r.request.Faults = sorted(r.request.Faults)
}

// Request returns the request of the id, if it is still kept.
func (s *Store) Request(id string) (r *Request, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.joiner.requests[id]
	if rec == nil {
		return nil, false
	}
	return rec.copy(s.readsOutput), true
}

// A Filter chooses requests. The zero value chooses all.
type Filter struct {
	Endpoint string // empty: all
	Client   string // empty: all
	Run      int    // 0: all
	Limit    int    // 0: no limit
}

func (f Filter) has(rec *record) bool {
	switch {
	case f.Endpoint != "" && !rec.isOf(f.Endpoint):
		return false
	case f.Client != "" && f.Client != rec.request.Client:
		return false
	case f.Run != 0 && f.Run != rec.request.Run:
		return false
	}
	return true
}

// isOf reports whether a request is of an endpoint, by its own name or by that under which it counts.
func (r *record) isOf(endpoint string) bool {
	return r.request.Endpoint == endpoint || r.ended && r.endpoint.name == endpoint
}

// Requests returns the requests that are kept and that the filter chooses, the newest first.
func (s *Store) Requests(f Filter) []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var requests []*Request
	for _, rec := range slices.Backward(s.order) {
		if !f.has(rec) {
			continue
		}
		requests = append(requests, rec.copy(s.readsOutput))
		if len(requests) == f.Limit {
			break
		}
	}
	return requests
}
