package capture

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/internal/guard"
)

// Bounds of a Store.
const (
	maxRequests = 1000
	maxBytes    = 16 << 20 // of bodies, headers and texts
	maxHeld     = 8 << 20  // of bodies that are not masked yet
	maxQueue    = 1024     // requests that are not masked yet

	bodiesPerSecond = 300 // above that the bodies of some requests are not kept
)

// Options are what a Store is made with.
type Options struct {
	Log *slog.Logger
	// ReadsOutput says that what the app prints arrives as signals, so that its logs are known.
	ReadsOutput bool
}

// A Store keeps the latest requests to an app, joins them with what the app tells of them, and counts.
// It is safe for concurrent use. Only Run, Signal and Next take more than a few microseconds.
type Store struct {
	log         *slog.Logger
	readsOutput bool
	began       time.Time
	build       func(Raw) Request
	queue       chan Raw
	held        atomic.Int64
	bodies      sampler
	breaker     breaker

	mu        sync.Mutex
	run       *run
	order     []*record // those that are kept, the oldest first
	bytes     int64
	joiner    joiner
	forgotten *forgotten
	endpoints endpoints
	looks     looks
}

// A run is the time from a start of the app to the next.
type run struct {
	number  int
	found   bool // it is known where the app answers
	told    bool // the app tells of its steps
	spans   bool // by OpenTelemetry, which tells of the end of each request too
	queried bool // of a query
	logged  bool // of its logs, other than by its output
}

// NewStore returns an empty store, in whose first run the app is.
func NewStore(o Options) *Store {
	s := &Store{
		log:         o.Log,
		readsOutput: o.ReadsOutput,
		began:       time.Now(),
		build:       build,
		queue:       make(chan Raw, maxQueue),
		joiner:      newJoiner(),
		forgotten:   newForgotten(),
		looks:       newLooks(),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.run = &run{number: 1}
	s.reset()
	return s
}

// reset forgets all but the run.
func (s *Store) reset() {
	s.order = nil
	s.bytes = 0
	s.joiner.clear()
	s.endpoints = endpoints{}
	s.looks.clear()
}

// Clear forgets all requests, signals and figures. Requests that are under way are kept when they end.
func (s *Store) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rec := range s.order {
		s.forget(rec)
	}
	s.reset()
}

// AppStarted says that it is known where the app answers, which has started, and returns the number of the run. The first
// run has begun with the store: an app tells of itself and is asked before.
func (s *Store) AppStarted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.run.found {
		s.run.found = true
		return s.run.number
	}
	s.run = &run{
		number: s.run.number + 1,
		found:  true,
	}
	for _, e := range s.endpoints {
		e.run = counts{}
	}
	return s.run.number
}

// CurrentRun returns the number of the latest run.
func (s *Store) CurrentRun() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run.number
}

// A Raw is a request that has ended, before its secrets are masked.
type Raw struct {
	Request  Request // without bodies and signals
	Sent     RawBody
	Received RawBody
}

// A RawBody is what was kept of a body.
type RawBody struct {
	Bytes []byte // as on the wire, at most MaxBody; nil: was not kept
	Cut   bool   // there was more
	Held  int64  // bytes that Hold has counted for it
}

func (r Raw) held() int64 { return r.Sent.Held + r.Received.Held }

// Begin says that a request is on its way to the app. It reads what is known then: ID, Trace, Span,
// Client, Method, URL and Started. What the request becomes End must say, or nobody.
func (s *Store) Begin(r Request) {
	if s.Off() {
		return
	}
	s.safely("noting a request", func() {
		now := time.Now()
		s.toldUntil(now).prepareRequest(&r)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.joiner.requests[r.ID] == nil {
			rec := s.begin(r, now)
			s.joiner.output.begin(rec, now)
		}
	})
}

// begin adds a request. The caller holds the lock.
func (s *Store) begin(r Request, now time.Time) *record {
	rec := &record{
		request: r,
		run:     s.run,
		begun:   now,
	}
	rec.request.Endpoint = Endpoint(r.Method, r.URL)
	rec.request.Run = s.run.number
	s.insert(rec)
	s.joinAll(s.joiner.add(rec, now), now)
	return rec
}

// End says how a request ended. The store masks it later, and keeps the header and the bodies, which
// must not be changed. A request that has ended twice counts once: an SDK tells of requests that have
// passed the proxy.
func (s *Store) End(raw Raw) {
	if s.Off() {
		s.Release(raw.held())
		return
	}
	isNew := false
	s.safely("counting a request", func() {
		now := time.Now()
		s.toldUntil(now).prepareRequest(&raw.Request)
		s.hold(&raw)
		isNew = s.end(&raw, now)
	})
	if !isNew {
		s.Release(raw.held())
		return
	}
	select {
	case s.queue <- raw:
	default:
		// The figures have it; what it was is lost.
		s.Release(raw.held())
		s.mu.Lock()
		defer s.mu.Unlock()
		s.evict(s.joiner.requests[raw.Request.ID])
	}
}

// end counts the request, and reports whether it ended just now.
func (s *Store) end(raw *Raw, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.joiner.requests[raw.Request.ID]
	if rec == nil && s.forgotten.has(raw.Request.ID) {
		return false
	}
	if rec == nil {
		rec = s.begin(raw.Request, now)
	}
	fromApp := raw.Request.Span == SpanID{} && rec.request.Span != SpanID{}
	if fromApp {
		s.take(Signal{
			Request: raw.Request.ID,
			Server:  true,
			At:      now,
		}, now)
		return false
	}
	if rec.ended {
		return false
	}
	rec.ended = true
	rec.endedAt = now
	if raw.Request.Span != (SpanID{}) { // when others were under way the app does not say
		s.joiner.output.end(rec, now)
	}
	s.count(rec, raw)
	return true
}

// count counts a request that has ended, and what the app has told of it until now.
func (s *Store) count(rec *record, raw *Raw) {
	inRun := rec.run == s.run
	rec.request.Endpoint = s.endpoints.nameFor(&raw.Request, rec.request.Endpoint)
	rec.endpoint = s.endpoints.of(rec.request.Endpoint)
	rec.endpoint.count(raw, inRun)
	traced := 0
	if rec.traced {
		traced = 1
	}
	rec.endpoint.countSteps(traced, rec.queries, inRun)
}

// Bodies reports whether the bodies of one more request may be kept: of at most 300 a second.
func (s *Store) Bodies() bool { return !s.Off() && s.bodies.take(time.Now()) }

// Hold reports whether n more bytes of a body may be kept until it is masked. They count until
// the request's End, or until Release.
func (s *Store) Hold(n int64) bool {
	if s.held.Add(n) <= maxHeld {
		return true
	}
	s.held.Add(-n)
	return false
}

// hold counts the bodies of a request that an SDK has told of, and leaves out those that there is no room for.
func (s *Store) hold(raw *Raw) {
	for _, body := range []*RawBody{&raw.Sent, &raw.Received} {
		n := int64(len(body.Bytes))
		switch {
		case body.Held > 0 || n == 0:
		case s.Hold(n):
			body.Held = n
		default:
			*body = RawBody{}
		}
	}
}

// Release gives bytes back that Hold has counted, and End will not have.
func (s *Store) Release(n int64) { s.held.Add(-n) }

// Run masks and keeps what End has been told, until the context ends.
func (s *Store) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case raw := <-s.queue:
			s.keepNext(raw)
		}
	}
}

// keepNext keeps what was in the queue.
func (s *Store) keepNext(raw Raw) {
	s.safely("keeping a request", func() { s.keep(raw) })
	s.Release(raw.held())
}

// safely calls f. A panic is logged and counts as a failure of the store.
func (s *Store) safely(doing string, f func()) {
	err := guard.Do(s.log, doing, func() error {
		f()
		return nil
	})
	if err == nil {
		return
	}
	if s.breaker.fail(time.Now()) {
		s.log.Error("too many internal errors: nothing is captured for a while", "while", offFor)
	}
}

// Off reports whether nothing is captured, because the store has failed too often.
func (s *Store) Off() bool { return s.breaker.isOff(time.Now()) }

// keep makes a request of what is known, and puts it in the place of its beginning.
func (s *Store) keep(raw Raw) {
	request := s.build(raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.joiner.requests[request.ID]
	if rec == nil || rec.kept {
		return
	}
	request.Run = rec.request.Run
	request.Endpoint = rec.request.Endpoint
	request.Queries = rec.request.Queries
	request.Fetches = rec.request.Fetches
	request.Logs = rec.request.Logs
	request.Faults = rec.request.Faults
	request.Dropped = rec.request.Dropped
	before := sizeOf(&rec.request)
	rec.request = request
	rec.kept = true
	s.grow(rec, sizeOf(&request)-before)
	s.looks.first(rec, s.readsOutput && rec.alone)
}
