package capture

import (
	"slices"
	"time"
)

// A joiner finds the request that a signal belongs to, and keeps signals whose request is not known yet, or
// never will be. Signals name their request, by its id or by a step of its trace, or are what the app prints.
// The store's lock protects it.
type joiner struct {
	requests map[string]*record // by id: those that are kept
	traces   traces
	output   output
	waiting  waitingSignals
	unjoined unjoined
	found    []joined // is used again by each call
}

// A joined signal is one whose request is known.
type joined struct {
	record  *record
	signal  Signal
	newStep bool // the signal's step is known since now
}

func newJoiner() joiner {
	return joiner{
		requests: map[string]*record{},
		traces:   traces{},
		waiting:  waitingSignals{groups: map[waitingKey]*waitingGroup{}},
	}
}

// clear forgets requests and signals. It is known still who may print.
func (j *joiner) clear() {
	before := j.output
	*j = newJoiner()
	j.output = before
}

// add adds a request, and returns the signals that have waited for it, until the next call.
func (j *joiner) add(rec *record, now time.Time) []joined {
	j.begin()
	r := &rec.request
	j.requests[r.ID] = rec
	j.release(waitingKey{request: r.ID}, rec, now)
	if r.Trace != (TraceID{}) {
		if j.traces.insert(rec) {
			j.release(waitingKey{trace: r.Trace}, rec, now)
		}
		j.release(waitingKey{trace: r.Trace, step: r.Span}, rec, now)
	}
	return j.follow(now)
}

// remove forgets a request that is not kept any more.
func (j *joiner) remove(rec *record) {
	delete(j.requests, rec.request.ID)
	j.traces.remove(rec)
}

// take returns the signal with its request, and those that have waited for the step that it tells of, until the
// next call. It returns none if the signal itself has to wait.
func (j *joiner) take(signal Signal, now time.Time) []joined {
	j.begin()
	rec := j.find(signal, now)
	switch {
	case rec != nil:
		j.join(rec, signal, now)
	case signal.isUnnamed():
		j.unjoined.add(signal)
	default:
		j.giveUp(now)
		j.waiting.add(j.keyOf(signal), signal, now)
	}
	return j.follow(now)
}

// begin forgets what the call before has returned.
func (j *joiner) begin() {
	clear(j.found)
	j.found = j.found[:0]
}

// find returns the request of the signal, or nil.
func (j *joiner) find(signal Signal, now time.Time) *record {
	if signal.isUnnamed() {
		return j.current(signal, now)
	}
	if rec := j.requests[signal.Request]; rec != nil {
		return rec
	}
	return j.traces.find(signal)
}

// current returns the only request that may print now. Lines that come by telemetry come late, and are of none.
func (j *joiner) current(signal Signal, now time.Time) *record {
	if signal.Log != nil && !signal.Log.isPrinted() {
		return nil
	}
	rec := j.output.only(now)
	if rec == nil || rec.evicted {
		return nil
	}
	return rec
}

// join adds the signal to those that are found, unless it comes too late.
func (j *joiner) join(rec *record, signal Signal, now time.Time) {
	if rec.ended && now.Sub(rec.endedAt) > lateUntil {
		j.unjoined.add(signal)
		return
	}
	j.found = append(j.found, joined{
		record: rec,
		signal: signal,
	})
}

// release joins the signals that wait for a key with the request.
func (j *joiner) release(key waitingKey, rec *record, now time.Time) {
	if len(j.waiting.groups) == 0 {
		return
	}
	for _, signal := range j.waiting.take(key) {
		j.join(rec, signal, now)
	}
}

// follow finds those that have waited for the steps that are found, and for their steps in turn, and returns all.
func (j *joiner) follow(now time.Time) []joined {
	for i := 0; i < len(j.found); i++ { //nolint:intrange // the list grows
		f := &j.found[i]
		f.newStep = j.traces.note(f.record, f.signal)
		if f.newStep {
			key := waitingKey{
				trace: f.signal.Trace,
				step:  f.signal.Span,
			}
			j.release(key, f.record, now)
		}
	}
	return j.found
}

// keyOf returns what a signal waits for: the step above in a trace that has requests, or else any request of its
// trace, or if it has none its request.
func (j *joiner) keyOf(signal Signal) waitingKey {
	key := waitingKey{trace: signal.Trace}
	switch {
	case signal.Trace == TraceID{}:
		key.request = signal.Request
	case j.traces[signal.Trace] == nil:
	case signal.Parent != SpanID{}:
		key.step = signal.Parent
	default:
		key.step = signal.Span
	}
	return key
}

// giveUp gives up signals whose request has not come.
func (j *joiner) giveUp(now time.Time) {
	for _, signal := range j.waiting.old(now) {
		j.unjoined.add(signal)
	}
}

// isUnnamed reports whether a signal does not say which request it belongs to.
func (s *Signal) isUnnamed() bool { return s.Request == "" && s.Trace == TraceID{} }

// isPrinted reports whether the line is of the app's output.
func (l *Log) isPrinted() bool { return l.From == "stdout" || l.From == "stderr" }

// maxUnjoined is how many signals are kept that belong to no request.
const maxUnjoined = 200

// unjoined are signals without a request, the oldest first.
type unjoined []Signal

func (u *unjoined) add(signal Signal) {
	if len(*u) >= maxUnjoined {
		*u = slices.Delete(*u, 0, 1)
	}
	*u = append(*u, signal)
}
