package capture

import (
	"container/heap"
	"context"
	"slices"
	"time"
)

const (
	quietFor    = 300 * time.Millisecond // without a signal, until telemetry is complete
	quietForSDK = time.Second            // the same for SDKs, which do not tell of the end of a request
	settleAt    = 10 * time.Second       // after the response, whatever is missing
	lateUntil   = 2 * time.Minute        // signals join a request
	maxPending  = 2 * maxRequests        // looks that wait, among them some that are of no use any more
)

// A Look is a request that is to be looked at.
type Look struct {
	Request *Request
	// Settled says that the request's telemetry is complete, as far as one can know. Each request has
	// one such look, and may have others before and after it.
	Settled bool
}

// Next returns the next request to look at. It blocks until there is one, and fails when the context
// ends, or with ErrFinished. It must not be called while another call waits. A request that the store had to forget is not returned.
func (s *Store) Next(ctx context.Context) (Look, error) {
	for {
		look, wait, ok := s.look(time.Now())
		if ok {
			return look, nil
		}
		if s.isFinished() {
			return Look{}, ErrFinished
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return Look{}, ctx.Err()
		case <-s.looks.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// look returns the next look, or how long none will be due.
func (s *Store) look(now time.Time) (look Look, wait time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec, wait := s.looks.next(now)
	if rec == nil {
		return Look{}, wait, false
	}
	look = Look{
		Request: rec.copy(s.readsOutput),
		Settled: rec.settledNow,
	}
	if rec.printed && !look.Settled {
		// The lines that it has are its own. Whether there were others only the settled look has to know.
		look.Request.Evidence |= Logged
	}
	rec.settledNow = false
	return look, 0, true
}

// looks are the records that are to be looked at, now and later.
type looks struct {
	wake     chan struct{} // holds a value if there may be something new
	ready    []*record
	schedule schedule
	finished bool // nothing comes any more
}

func newLooks() looks { return looks{wake: make(chan struct{}, 1)} }

// clear forgets all records.
func (l *looks) clear() {
	l.ready = nil
	l.schedule = nil
}

// next returns the next record to look at, or how long none will be due.
func (l *looks) next(now time.Time) (rec *record, wait time.Duration) {
	l.advance(now)
	for len(l.ready) > 0 {
		rec = l.ready[0]
		l.ready[0] = nil
		l.ready = l.ready[1:]
		rec.isReady = false
		if !rec.evicted {
			return rec, 0
		}
	}
	if len(l.schedule) > 0 {
		return nil, l.schedule[0].due.Sub(now)
	}
	return nil, time.Hour
}

// push puts a record among those that are ready.
func (l *looks) push(rec *record) {
	if rec.isReady {
		return
	}
	rec.isReady = true
	if len(l.ready) >= maxPending {
		l.ready = slices.DeleteFunc(l.ready, func(r *record) bool { return r.evicted })
	}
	l.ready = append(l.ready, rec)
	l.notify()
}

// notify wakes who waits for a look.
func (l *looks) notify() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// first makes a record ready that was just kept, and plans when it is settled: at once, unless the app may tell more of
// it, or print.
func (l *looks) first(rec *record, mayPrint bool) {
	if rec.run.told || rec.traced || mayPrint {
		l.plan(rec)
	} else {
		rec.settled = true
		rec.settledNow = true
	}
	l.push(rec)
}

// plan puts a record in the schedule, or moves it there.
func (l *looks) plan(rec *record) {
	if rec.evicted {
		return
	}
	rec.due = rec.dueAt()
	if rec.planned {
		heap.Fix(&l.schedule, rec.index)
	} else {
		rec.planned = true
		heap.Push(&l.schedule, rec)
	}
	if rec.index == 0 {
		l.notify()
	}
}

// unplan takes a record out of the schedule.
func (l *looks) unplan(rec *record) {
	if rec.planned {
		heap.Remove(&l.schedule, rec.index)
		rec.planned = false
	}
}

// advance makes ready what is due.
func (l *looks) advance(now time.Time) {
	for len(l.schedule) > 0 && !l.schedule[0].due.After(now) {
		rec := l.schedule[0]
		l.unplan(rec)
		if !rec.settled {
			rec.settled = true
			rec.settledNow = true
		}
		l.push(rec)
	}
}

// dueAt returns when the next look is due: the settled one, or that for late signals.
func (r *record) dueAt() time.Time {
	quiet := r.lastSignal
	if quiet.Before(r.endedAt) {
		quiet = r.endedAt
	}
	latest := r.endedAt.Add(settleAt)
	due := quiet.Add(quietFor)
	switch {
	case r.settled, r.served:
	case !r.run.told && !r.traced:
		return r.endedAt.Add(PrintedFor)
	case r.run.spans:
		return latest
	default:
		due = quiet.Add(quietForSDK)
	}
	if !r.settled && due.After(latest) {
		return latest
	}
	return due
}

// A schedule is a heap of records, the one that is due first at its beginning.
type schedule []*record

// Len is how many records are in the schedule.
func (s schedule) Len() int { return len(s) }

// Less reports whether a record is due before another.
func (s schedule) Less(i, j int) bool { return s[i].due.Before(s[j].due) }

// Swap changes the places of two records.
func (s schedule) Swap(i, j int) {
	first := s[i]
	second := s[j]
	s[i] = second
	s[j] = first
	first.index = j
	second.index = i
}

// Push adds a record at the end.
func (s *schedule) Push(x any) {
	rec := x.(*record)
	rec.index = len(*s)
	*s = append(*s, rec)
}

// Pop takes out the record at the end.
func (s *schedule) Pop() any {
	last := len(*s) - 1
	rec := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	return rec
}
