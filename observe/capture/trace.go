package capture

import "slices"

const (
	maxSpans = 1000 // of one trace, whose parents are known
	maxChain = 64   // from a step up to its request
)

// A trace is a chain of requests, and of the app's steps below them.
type trace struct {
	records []*record
	parents map[SpanID]SpanID
}

// traces are those of the requests that are kept.
type traces map[TraceID]*trace

// insert adds a request to its trace.
func (t traces) insert(rec *record) {
	id := rec.request.Trace
	if id == (TraceID{}) {
		return
	}
	if t[id] == nil {
		t[id] = &trace{}
	}
	t[id].records = append(t[id].records, rec)
}

// remove takes a request out of its trace.
func (t traces) remove(rec *record) {
	id := rec.request.Trace
	of := t[id]
	if of == nil {
		return
	}
	of.records = slices.DeleteFunc(of.records, func(r *record) bool { return r == rec })
	if len(of.records) == 0 {
		delete(t, id)
	}
}

// find returns the only request of the signal's trace, or the one among the steps above. It notes the
// step that tells.
func (t traces) find(signal Signal) *record {
	of := t[signal.Trace]
	if of == nil {
		return nil
	}
	of.learn(signal)
	if len(of.records) == 1 {
		return of.records[0]
	}
	return of.climb(signal)
}

// learn notes the step above that of the signal.
func (t *trace) learn(signal Signal) {
	if signal.Span == (SpanID{}) || signal.Parent == (SpanID{}) || len(t.parents) >= maxSpans {
		return
	}
	if t.parents == nil {
		t.parents = map[SpanID]SpanID{}
	}
	t.parents[signal.Span] = signal.Parent
}

// climb goes from step to step up to one that is a request.
func (t *trace) climb(signal Signal) *record {
	span := signal.Span
	if span == (SpanID{}) {
		span = signal.Parent
	}
	for range maxChain {
		if span == (SpanID{}) {
			return nil
		}
		for _, rec := range t.records {
			if rec.request.Span == span {
				return rec
			}
		}
		span = t.parents[span]
	}
	return nil
}

// Traced returns the first request of a trace that is kept; nil: none is.
func (s *Store) Traced(id TraceID) *Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.traces[id]
	if of == nil {
		return nil
	}
	return of.records[0].copy(s.readsOutput)
}
