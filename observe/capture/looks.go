package capture

import (
	"container/heap"
	"context"
	"slices"
	"time"
)

const (
	quietFor   = 300 * time.Millisecond // without a signal, until telemetry is complete
	settleAt   = 10 * time.Second       // after the response, whatever is missing
	lateUntil  = 2 * time.Minute        // signals join a request
	maxPending = 2 * maxRequests        // looks that wait, among them some that are of no use any more
)

// A Look is a request that is to be looked at.
type Look struct {
	Request *Request
	// Settled says that the request's telemetry is complete, as far as one can know. Each request has
	// one such look, and may have others before and after it.
	Settled bool
}

// Next returns the next request to look at. It blocks until there is one, and fails when the context
// ends. It must not be called while another call waits. A request that the store had to forget is not returned.
func (s *Store) Next(ctx context.Context) (Look, error) {
	for {
		look, wait, ok := s.look(time.Now())
		if ok {
			return look, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return Look{}, ctx.Err()
		case <-s.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// look returns the next look, or how long none will be due.
func (s *Store) look(now time.Time) (look Look, wait time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance(now)
	for len(s.ready) > 0 {
		rec := s.ready[0]
		s.ready[0] = nil
		s.ready = s.ready[1:]
		rec.isReady = false
		if rec.evicted {
			continue
		}
		look = Look{
			Request: rec.copy(s.readsOutput),
			Settled: rec.settledNow,
		}
		rec.settledNow = false
		return look, 0, true
	}
	wait = time.Hour
	if len(s.schedule) > 0 {
		wait = s.schedule[0].due.Sub(now)
	}
	return Look{}, wait, false
}

// push puts a record among those that Next returns.
func (s *Store) push(rec *record) {
	if rec.isReady {
		return
	}
	rec.isReady = true
	if len(s.ready) >= maxPending {
		s.ready = slices.DeleteFunc(s.ready, func(r *record) bool { return r.evicted })
	}
	s.ready = append(s.ready, rec)
	s.notify()
}

// notify wakes Next.
func (s *Store) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// firstLook lets Next return a request that was just kept, and plans when it is settled.
func (s *Store) firstLook(rec *record) {
	if !rec.run.told && !rec.traced {
		rec.settled = true
		rec.settledNow = true
	} else {
		s.plan(rec)
	}
	s.push(rec)
}

// plan puts a record in the schedule, or moves it there.
func (s *Store) plan(rec *record) {
	if rec.evicted {
		return
	}
	rec.due = rec.dueAt()
	if rec.planned {
		heap.Fix(&s.schedule, rec.place)
	} else {
		rec.planned = true
		heap.Push(&s.schedule, rec)
	}
	if rec.place == 0 {
		s.notify()
	}
}

// unplan takes a record out of the schedule.
func (s *Store) unplan(rec *record) {
	if rec.planned {
		heap.Remove(&s.schedule, rec.place)
		rec.planned = false
	}
}

// dueAt returns when the next look is due: the settled one, or that for late signals.
func (r *record) dueAt() time.Time {
	quiet := r.lastSignal
	if quiet.Before(r.endedAt) {
		quiet = r.endedAt
	}
	quiet = quiet.Add(quietFor)
	latest := r.endedAt.Add(settleAt)
	if !r.settled && (!r.served || quiet.After(latest)) {
		return latest
	}
	return quiet
}

// advance moves what is due from the schedule to what Next returns.
func (s *Store) advance(now time.Time) {
	for len(s.schedule) > 0 && !s.schedule[0].due.After(now) {
		rec := s.schedule[0]
		s.unplan(rec)
		if !rec.settled {
			rec.settled = true
			rec.settledNow = true
		}
		s.push(rec)
	}
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
	first.place = j
	second.place = i
}

// Push adds a record at the end.
func (s *schedule) Push(x any) {
	rec := x.(*record)
	rec.place = len(*s)
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
