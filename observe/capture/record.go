package capture

import (
	"net/http"
	"slices"
	"time"
)

// A record is a request in a Store, and what the store knows of it beyond that.
type record struct {
	request  Request // as Begin had it, until kept
	run      *run
	endpoint *endpoint
	size     int64

	begun   time.Time
	endedAt time.Time
	ended   bool
	kept    bool // masked, with header and bodies
	evicted bool
	alone   bool // no other request was under way at the same time

	traced     bool
	served     bool // the app's own step has ended
	unsorted   bool // signals have come out of order
	lastSignal time.Time

	settled    bool
	planned    bool // is in the schedule
	place      int  // where
	due        time.Time
	isReady    bool // waits for Next
	settledNow bool // the look that waits for Next is the settled one
}

// shortRequest is how long a request is taken for one that may print to the app's output. Streams last longer.
const shortRequest = 10 * time.Second

// maxMet bounds how many requests are looked at for whether they are under way at the same time.
const maxMet = 4

// meet notes that the record and others are under way at the same time.
func (s *Store) meet(rec *record, now time.Time) {
	if len(s.open) > maxMet {
		// The others have met each other.
		rec.alone = false
		return
	}
	for other := range s.open {
		if now.Sub(other.begun) < shortRequest {
			other.alone = false
			rec.alone = false
		}
	}
}

// insert adds the newest record, and makes room for it.
func (s *Store) insert(rec *record) {
	s.records[rec.request.ID] = rec
	s.order = append(s.order, rec)
	if id := rec.request.Trace; id != (TraceID{}) {
		t := s.traces[id]
		if t == nil {
			t = &trace{}
			s.traces[id] = t
		}
		t.records = append(t.records, rec)
	}
	s.grow(rec, sizeOf(&rec.request))
}

// grow sets how much a record takes, and makes room where the store has become too big.
func (s *Store) grow(rec *record, by int64) {
	if rec.evicted {
		return
	}
	rec.size += by
	s.bytes += by
	for len(s.order) > 1 && (len(s.records) > maxRequests || s.bytes > maxBytes) {
		s.evict(s.order[0])
	}
}

// evict forgets a record. Figures keep what they counted.
func (s *Store) evict(rec *record) {
	if rec == nil || rec.evicted {
		return
	}
	rec.evicted = true
	s.bytes -= rec.size
	delete(s.records, rec.request.ID)
	delete(s.open, rec)
	s.unplan(rec)
	if s.order[0] == rec {
		s.order[0] = nil
		s.order = s.order[1:]
	} else {
		s.order = slices.DeleteFunc(s.order, func(r *record) bool { return r == rec })
	}
	t := s.traces[rec.request.Trace]
	if t == nil {
		return
	}
	t.records = slices.DeleteFunc(t.records, func(r *record) bool { return r == rec })
	if len(t.records) == 0 {
		delete(s.traces, rec.request.Trace)
	}
}

// sizeOf returns about how much memory a request takes, in bytes.
func sizeOf(r *Request) int64 {
	const fixed = 1500
	size := fixed + len(r.URL) + len(r.Sent.Body) + len(r.Received.Body)
	return int64(size + headerSize(r.Sent.Header) + headerSize(r.Received.Header))
}

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
		request.URL = MaskURL(request.URL)
		request.Endpoint = r.endpoint.name
		request.Sent = Message{}
	}
	if r.traced {
		request.Evidence |= Traced
		if r.run.queried {
			request.Evidence |= Queried
		}
	}
	if r.run.logged || readsOutput && r.alone {
		request.Evidence |= Logged
	}
	return &request
}

// sort puts signals in the order of time. Copies that were returned before keep theirs.
func (r *record) sort() {
	r.unsorted = false
	r.request.Queries = slices.Clone(r.request.Queries)
	r.request.Fetches = slices.Clone(r.request.Fetches)
	r.request.Logs = slices.Clone(r.request.Logs)
	r.request.Faults = slices.Clone(r.request.Faults)
	slices.SortStableFunc(r.request.Queries, func(a, b Query) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(r.request.Fetches, func(a, b Fetch) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(r.request.Logs, func(a, b Log) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(r.request.Faults, func(a, b Fault) int { return a.At.Compare(b.At) })
}

// Request returns the request of the id, if it is still kept.
func (s *Store) Request(id string) (r *Request, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.records[id]
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
	case f.Endpoint != "" && f.Endpoint != rec.endpoint.name && f.Endpoint != rec.request.Endpoint:
		return false
	case f.Client != "" && f.Client != rec.request.Client:
		return false
	case f.Run != 0 && f.Run != rec.request.Run:
		return false
	}
	return true
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
