package capture

import (
	"slices"
	"strings"
	"time"
)

const (
	maxSpans    = 1000 // of one trace, whose parents are known
	maxChain    = 64   // from a step up to its request
	maxUnjoined = 200

	// printedFor is how long after the response what the app prints is taken for the request's.
	printedFor = 200 * time.Millisecond
)

// A trace is a chain of requests, and of the app's steps below them.
type trace struct {
	records []*record
	parents map[SpanID]SpanID
}

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
		s.keepUnjoined(signal)
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

func (s *Store) keepUnjoined(signal Signal) {
	if len(s.unjoined) >= maxUnjoined {
		s.unjoined = slices.Delete(s.unjoined, 0, 1)
	}
	s.unjoined = append(s.unjoined, signal)
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

// find returns the request of the signal: by id, by its trace if that has one request, else by the
// steps above. It notes the steps of a known trace.
func (s *Store) find(signal Signal) *record {
	if rec := s.records[signal.Request]; rec != nil {
		return rec
	}
	t := s.traces[signal.Trace]
	if t == nil || signal.Trace == (TraceID{}) {
		return nil
	}
	t.learn(signal)
	if len(t.records) == 1 {
		return t.records[0]
	}
	return t.climb(signal)
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
		s.keepUnjoined(signal)
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
		s.plan(rec)
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

// prepare returns the signal with its texts masked and cut. It changes nothing that the signal points to.
func prepare(signal Signal) Signal {
	if signal.Query != nil {
		q := *signal.Query
		q.Text = cutText(MaskQuery(q.Text))
		q.Values = cutText(MaskText(q.Values))
		if q.Shape == "" {
			q.Shape, _ = Shape(q.Text)
		}
		if q.Table == "" {
			q.Table = Table(q.Text)
		}
		signal.Query = &q
	}
	if signal.Fetch != nil {
		f := *signal.Fetch
		f.URL = cutText(MaskURL(f.URL))
		signal.Fetch = &f
	}
	if signal.Log != nil {
		l := *signal.Log
		l.Level = strings.ToLower(l.Level)
		l.Text = cutText(MaskText(l.Text))
		signal.Log = &l
	}
	if signal.Fault != nil {
		f := *signal.Fault
		f.Message = cutText(MaskText(f.Message))
		f.Stack = cutText(MaskText(f.Stack))
		signal.Fault = &f
	}
	return signal
}

// cutText returns the text, at most MaxText, and correct UTF-8. It does not keep a longer text alive.
func cutText(text string) string {
	if len(text) > MaxText {
		text = strings.Clone(text[:MaxText])
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
