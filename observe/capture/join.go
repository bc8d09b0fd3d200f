package capture

import (
	"slices"
	"time"
)

// Signal takes what the app told. A signal without id and trace, as what the app prints, goes to the
// request that is under way if there is just one. Others wait for their request, for two minutes. Texts
// are masked and cut to MaxText here, times are bounded by now, and the fields are filled in that follow from a query's text.
func (s *Store) Signal(signal Signal) {
	if s.Off() {
		return
	}
	s.safely("taking a signal", func() {
		now := time.Now()
		signal = s.toldUntil(now).prepare(signal)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.take(signal, now)
	})
}

// take joins the signal with its request, or lets it wait.
func (s *Store) take(signal Signal, now time.Time) {
	found := s.joiner.take(signal, now)
	if len(found) == 0 {
		s.run.learn(signal)
	}
	s.joinAll(found, now)
}

func (s *Store) joinAll(found []joined, now time.Time) {
	for i := range found {
		s.join(&found[i], now)
	}
}

// Unjoined returns signals that belong to no request that is kept, such as what the app prints when it
// starts, the newest first: at most 200.
func (s *Store) Unjoined() []Signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	signals := slices.Clone(s.joiner.unjoined)
	slices.Reverse(signals)
	return signals
}

// learn notes what the app tells in this run.
func (r *run) learn(signal Signal) {
	isStep := signal.Span != SpanID{} || signal.Request != ""
	if isStep && (signal.Server || signal.Query != nil || signal.Fetch != nil) {
		r.told = true
		r.spans = r.spans || signal.Span != SpanID{}
	}
	if signal.Query != nil {
		r.queried = true
	}
	if signal.isNamedLog() {
		r.logged = true
	}
}

// isNamedLog reports whether the signal is a line that says which request it belongs to.
func (s *Signal) isNamedLog() bool {
	return s.Log != nil && !s.Log.isPrinted() && !s.isUnnamed()
}

// join adds the signal to its request.
func (s *Store) join(f *joined, now time.Time) {
	rec := f.record
	if rec.evicted { // for those before it
		return
	}
	signal := f.signal
	rec.run.learn(signal)
	rec.lastSignal = now
	rec.logged = rec.logged || signal.isNamedLog()
	rec.printed = rec.printed || signal.Log != nil && signal.Log.isPrinted()
	rec.served = rec.served || rec.isServedBy(signal)
	isStep := signal.Span != SpanID{} || signal.Request != "" && (signal.Server || signal.Query != nil || signal.Fetch != nil)
	if isStep && !rec.traced {
		rec.traced = true
		s.countSteps(rec, 1, 0)
	}
	s.add(rec, signal)
	if f.newStep {
		s.grow(rec, stepSize)
	}
	if rec.kept {
		s.looks.plan(rec)
	}
}

// isServedBy reports whether the signal is of the app's own step for the request, which ends last. The app may
// call itself meanwhile, and tells of that step too.
func (r *record) isServedBy(signal Signal) bool {
	if !signal.Server {
		return false
	}
	isKnown := signal.Parent != SpanID{} && r.request.Span != SpanID{}
	return !isKnown || signal.Parent == r.request.Span
}

// add keeps what the signal carries.
func (s *Store) add(rec *record, signal Signal) {
	r := &rec.request
	dropped := r.Dropped
	if signal.Query != nil {
		rec.queries++
		s.countSteps(rec, 0, 1)
		addTo(rec, &r.Queries, *signal.Query)
	}
	if signal.Fetch != nil {
		addTo(rec, &r.Fetches, *signal.Fetch)
	}
	if signal.Log != nil {
		addTo(rec, &r.Logs, *signal.Log)
	}
	if signal.Fault != nil {
		addFault(rec, *signal.Fault)
	}
	if r.Dropped == dropped {
		s.grow(rec, int64(signal.size()))
	}
}

// A timed is what a signal carries.
type timed interface{ at() time.Time }

func (q Query) at() time.Time { return q.At }
func (f Fetch) at() time.Time { return f.At }
func (l Log) at() time.Time   { return l.At }
func (f Fault) at() time.Time { return f.At }

// addTo adds the item to the others of the record, or counts it as dropped.
func addTo[T timed](rec *record, all *[]T, item T) {
	n := len(*all)
	if n >= maxSignals {
		rec.request.Dropped++
		return
	}
	if n > 0 && item.at().Before((*all)[n-1].at()) {
		rec.unsorted = true
	}
	*all = append(*all, item)
}

// addFault adds an error, unless the request has it already: frameworks tell of an error at each step that it
// passes through. The one with a stack stays.
func addFault(rec *record, fault Fault) {
	for i := range rec.request.Faults {
		known := &rec.request.Faults[i]
		if known.Name != fault.Name || known.Message != fault.Message {
			continue
		}
		if known.Stack == "" && fault.Stack != "" {
			rec.request.Faults = slices.Clone(rec.request.Faults) // copies keep theirs
			rec.request.Faults[i] = fault
		}
		return
	}
	addTo(rec, &rec.request.Faults, fault)
}

// sorted returns a copy in the order of time.
func sorted[T timed](all []T) []T {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b T) int { return a.at().Compare(b.at()) })
	return all
}

// countSteps counts what the app told of a request once it has ended: before its endpoint is not known.
func (s *Store) countSteps(rec *record, traced, queries int) {
	if rec.ended {
		rec.endpoint.countSteps(traced, queries, rec.run == s.run)
	}
}
