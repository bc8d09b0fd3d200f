package capture

import (
	"slices"
	"time"
)

const (
	maxUnjoined = 200

	// printedFor is how long after the response what the app prints is taken for the request's.
	printedFor = 200 * time.Millisecond
)

// Signal takes what the app told. A signal without id and trace, as what the app prints, goes to the
// request that is under way if there is just one. Others wait for their request, for two minutes. Texts
// are masked and cut to MaxText here, and the fields are filled in that follow from a query's text.
func (s *Store) Signal(signal Signal) {
	if s.Off() {
		return
	}
	s.safely("taking a signal", func() {
		signal = prepare(signal)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.take(signal, time.Now())
	})
}

// take joins the signal with its request, or lets it wait.
func (s *Store) take(signal Signal, now time.Time) {
	isAlone := signal.Request == "" && signal.Trace == TraceID{}
	if isAlone {
		s.takeUnnamed(signal, now)
		return
	}
	rec := s.find(signal)
	if rec == nil {
		s.run.learn(signal)
		s.dropWaiting(now)
		s.waiting.add(signal, now)
		return
	}
	s.join(rec, signal)
	s.adoptTrace(signal.Trace)
}

// takeUnnamed joins a signal that does not say to which request it belongs.
func (s *Store) takeUnnamed(signal Signal, now time.Time) {
	s.run.learn(signal)
	rec := s.current(now)
	if rec == nil {
		s.unjoined.add(signal)
		return
	}
	s.join(rec, signal)
}

// current returns the request that is under way, or has just ended, if there is just one.
func (s *Store) current(now time.Time) *record {
	var found *record
	for rec := range s.open {
		if now.Sub(rec.begun) > shortRequest {
			continue
		}
		if found != nil {
			return nil
		}
		found = rec
	}
	last := s.lastEnded
	if found == nil && last != nil && !last.evicted && now.Sub(last.endedAt) <= printedFor {
		return last
	}
	return found
}

// Unjoined returns signals that belong to no request that is kept, such as what the app prints when it
// starts, the newest first: at most 200.
func (s *Store) Unjoined() []Signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	signals := slices.Clone(s.unjoined)
	slices.Reverse(signals)
	return signals
}

// unjoined are signals without a request, the oldest first.
type unjoined []Signal

func (u *unjoined) add(signal Signal) {
	if len(*u) >= maxUnjoined {
		*u = slices.Delete(*u, 0, 1)
	}
	*u = append(*u, signal)
}

// find returns the request of the signal, or nil.
func (s *Store) find(signal Signal) *record {
	if rec := s.records[signal.Request]; rec != nil {
		return rec
	}
	if signal.Trace == (TraceID{}) {
		return nil
	}
	return s.traces.find(signal)
}

// learn notes what the app tells in this run.
func (r *run) learn(signal Signal) {
	isStep := signal.Span != SpanID{} || signal.Request != ""
	if isStep && (signal.Server || signal.Query != nil || signal.Fetch != nil) {
		r.told = true
	}
	if signal.Query != nil {
		r.queried = true
	}
	if signal.Log != nil && signal.Log.From != "stdout" && signal.Log.From != "stderr" {
		r.logged = true
	}
}

// join adds the signal to its request.
func (s *Store) join(rec *record, signal Signal) {
	now := time.Now()
	if rec.ended && now.Sub(rec.endedAt) > lateUntil {
		s.unjoined.add(signal)
		return
	}
	rec.run.learn(signal)
	rec.lastSignal = now
	rec.served = rec.served || signal.Server
	isStep := signal.Span != SpanID{} || signal.Request != "" && (signal.Server || signal.Query != nil || signal.Fetch != nil)
	if isStep && !rec.traced {
		rec.traced = true
		rec.endpoint.countTraced(rec.run == s.run)
	}
	s.add(rec, signal)
	if rec.kept {
		s.looks.plan(rec)
	}
}

// add keeps what the signal carries.
func (s *Store) add(rec *record, signal Signal) {
	r := &rec.request
	size := 0
	if q := signal.Query; q != nil {
		rec.endpoint.countQuery(rec.run == s.run)
		rec.unsorted = rec.unsorted || outOfOrder(r.Queries, func(last Query) bool { return q.At.Before(last.At) })
		if appendTo(&r.Queries, *q, &r.Dropped) {
			size += 200 + len(q.Text) + len(q.Shape) + len(q.Values)
		}
	}
	if f := signal.Fetch; f != nil {
		rec.unsorted = rec.unsorted || outOfOrder(r.Fetches, func(last Fetch) bool { return f.At.Before(last.At) })
		if appendTo(&r.Fetches, *f, &r.Dropped) {
			size += 100 + len(f.URL)
		}
	}
	if l := signal.Log; l != nil {
		rec.unsorted = rec.unsorted || outOfOrder(r.Logs, func(last Log) bool { return l.At.Before(last.At) })
		if appendTo(&r.Logs, *l, &r.Dropped) {
			size += 80 + len(l.Text)
		}
	}
	if f := signal.Fault; f != nil {
		rec.unsorted = rec.unsorted || outOfOrder(r.Faults, func(last Fault) bool { return f.At.Before(last.At) })
		if appendTo(&r.Faults, *f, &r.Dropped) {
			size += 80 + len(f.Name) + len(f.Message) + len(f.Stack)
		}
	}
	s.grow(rec, int64(size))
}

func outOfOrder[T any](all []T, isBefore func(last T) bool) bool {
	return len(all) > 0 && isBefore(all[len(all)-1])
}

// appendTo adds the item, or counts it as dropped.
func appendTo[T any](all *[]T, item T, dropped *int) bool {
	if len(*all) >= maxSignals {
		*dropped++
		return false
	}
	*all = append(*all, item)
	return true
}

func (e *endpoint) countTraced(inRun bool) {
	e.total.figures.Traced++
	if inRun {
		e.run.figures.Traced++
	}
}

func (e *endpoint) countQuery(inRun bool) {
	e.total.figures.Queries++
	if inRun {
		e.run.figures.Queries++
	}
}
