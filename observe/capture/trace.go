package capture

import "slices"

// How many of the app's steps for one request are known, and how many most requests have.
const (
	maxSteps   = 1000
	usualSteps = 16
)

// stepSize is about how much memory a step takes, in bytes.
const stepSize = 48

// A trace is a chain of requests. A client may give all its requests the same one.
type trace struct {
	records []*record // the oldest first
	// steps are the requests' own steps and those of the app, each with its request. It is nil while there is
	// one request, of which the app has told no step.
	steps map[SpanID]*record
}

// traces are those of the requests that are kept.
type traces map[TraceID]*trace

// insert adds a request to its trace, and reports whether it is the only one there.
func (t traces) insert(rec *record) bool {
	id := rec.request.Trace
	of := t[id]
	if of == nil {
		of = &trace{}
		t[id] = of
	}
	of.records = append(of.records, rec)
	isOnly := len(of.records) == 1
	if of.steps != nil || !isOnly {
		of.index()[rec.request.Span] = rec
	}
	return isOnly
}

// index returns the steps, with at least those of the requests themselves.
func (t *trace) index() map[SpanID]*record {
	if t.steps == nil {
		t.steps = map[SpanID]*record{}
		for _, rec := range t.records {
			t.steps[rec.request.Span] = rec
		}
	}
	return t.steps
}

// remove takes a request out of its trace, with its steps.
func (t traces) remove(rec *record) {
	id := rec.request.Trace
	of := t[id]
	if of == nil {
		return
	}
	of.records = slices.DeleteFunc(of.records, func(r *record) bool { return r == rec })
	if len(of.records) == 0 {
		delete(t, id)
		return
	}
	delete(of.steps, rec.request.Span)
	for _, step := range rec.steps {
		delete(of.steps, step)
	}
}

// find returns the only request of the signal's trace, or the one whose step it is, or that of the step above.
func (t traces) find(signal Signal) *record {
	of := t[signal.Trace]
	switch {
	case of == nil:
		return nil
	case len(of.records) == 1:
		return of.records[0]
	}
	steps := of.index()
	for _, id := range []SpanID{signal.Span, signal.Parent} {
		if id == (SpanID{}) {
			continue
		}
		if rec := steps[id]; rec != nil {
			return rec
		}
	}
	return nil
}

// note notes that the signal's step is one of the request, and reports whether that is new.
func (t traces) note(rec *record, signal Signal) bool {
	of := t[signal.Trace]
	if of == nil || signal.Span == (SpanID{}) || signal.Trace != rec.request.Trace || len(rec.steps) >= maxSteps {
		return false
	}
	steps := of.index()
	if steps[signal.Span] != nil {
		return false
	}
	steps[signal.Span] = rec
	if rec.steps == nil {
		rec.steps = make([]SpanID, 0, usualSteps)
	}
	rec.steps = append(rec.steps, signal.Span)
	return true
}

// Traced returns the first request of a trace that is kept; nil: none is.
func (s *Store) Traced(id TraceID) *Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.joiner.traces[id]
	if of == nil {
		return nil
	}
	return of.records[0].copy(s.readsOutput)
}
