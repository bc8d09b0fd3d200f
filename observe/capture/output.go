package capture

import (
	"container/list"
	"time"
)

// PrintedFor is how long after its answer a request may print. Of requests that are closer together it is not known
// which one has printed what.
const PrintedFor = 200 * time.Millisecond

// shortRequest is how long a request may print before it has an answer. Streams last longer.
const shortRequest = 10 * time.Second

// An output knows which requests may print: each from its beginning on for shortRequest, and for PrintedFor
// after its end. What the app prints belongs to the only one. Where there are two, nobody knows.
//
// Among two or more that may print none is alone, because each one that comes to others marks them: so it
// is enough to know whether there are none, one or more.
type output struct {
	open  list.List // of the records that have not ended, the oldest first
	ended [2]*record
}

// begin adds a request that has begun.
func (o *output) begin(rec *record, now time.Time) {
	rec.alone = true
	o.meet(rec, now)
	rec.place = o.open.PushBack(rec)
}

// end notes that the request has ended. One that took longer than shortRequest is not alone: what it printed
// meanwhile went to nobody, or to others.
func (o *output) end(rec *record, now time.Time) {
	isShort := rec.place != nil && now.Sub(rec.begun) <= shortRequest
	o.remove(rec)
	if !isShort {
		o.meet(rec, now)
		rec.alone = false
	}
	o.ended[1] = o.ended[0]
	o.ended[0] = rec
}

// remove takes out a request that is not waited for any more.
func (o *output) remove(rec *record) {
	if rec.place != nil {
		o.open.Remove(rec.place)
		rec.place = nil
	}
}

// meet notes that the record comes to those that may print.
func (o *output) meet(rec *record, now time.Time) {
	other, count := o.printing(now)
	if count > 0 {
		rec.alone = false
		other.alone = false
	}
}

// only returns the only request that may print; nil: there is none, or several.
func (o *output) only(now time.Time) *record {
	rec, count := o.printing(now)
	if count != 1 {
		return nil
	}
	return rec
}

// printing returns one of the requests that may print, and how many there are: 0, 1, or 2 for more.
func (o *output) printing(now time.Time) (rec *record, count int) {
	o.dropLong(now)
	for e := o.open.Back(); e != nil && count < 2; e = e.Prev() {
		rec = e.Value.(*record)
		count++
	}
	for _, ended := range o.ended {
		if ended != nil && now.Sub(ended.endedAt) <= PrintedFor {
			rec = ended
			count++
		}
	}
	return rec, min(count, 2)
}

// dropLong takes out those that have lasted for too long.
func (o *output) dropLong(now time.Time) {
	for e := o.open.Front(); e != nil; e = o.open.Front() {
		rec := e.Value.(*record)
		if now.Sub(rec.begun) <= shortRequest {
			return
		}
		o.remove(rec)
	}
}
