package throttle

import (
	"fmt"
	"slices"
	"time"
)

// An outage is a time in which nothing is answered: what would fail in the same
// way for every job is tried with one, and for all.
type outage struct {
	failures int       // in a row; 0: there is no outage
	until    time.Time // nothing is tried before
	probe    *job      // in flight to see whether it is over
}

// finish is told what became of a job in flight, and when. The verdict counts
// only with an error.
func (p *plan) finish(j *job, err error, v Verdict, at time.Time) {
	p.inFlight--
	if j.Class.light() {
		p.light--
	}
	if err == nil {
		v = Verdict{}
	}
	if v.Kind != Wait {
		j.Tried++
	}
	if v.Ambiguous {
		j.unsure++
		p.stats.Ambiguous++
	}
	p.learn(j, err, v, at)
	again := p.settle(j, err, v, at)
	if again {
		p.retry(j, v, at)
	}
	c := p.landed(j, again)
	if v.Kind == Wait {
		p.hold(j, c, v, at)
	}
	if c != nil {
		p.place(c, at)
	}
}

// learn draws from an outcome whether anything is answered. Jobs that were in
// flight when an outage began say nothing new by failing.
func (p *plan) learn(j *job, err error, v Verdict, at time.Time) {
	probed := p.outage.probe == j
	if probed {
		p.outage.probe = nil
	}
	if p.closed {
		return // what fails now was cut off
	}
	if err == nil || !v.Global || v.Kind != Retry {
		p.outage = outage{}
		return
	}
	if p.outage.failures == 0 || probed {
		p.outage.failures++
		p.outage.until = at.Add(p.o.delay(p.outage.failures))
	}
}

// hold keeps a chat, or all of them, from sending for the time that the other
// side has named. One that names none is not asked again at once.
func (p *plan) hold(j *job, c *chat, v Verdict, at time.Time) {
	p.stats.Limited++
	until := at.Add(v.For)
	if v.For <= 0 {
		until = at.Add(p.o.FirstDelay)
	}
	switch {
	case v.Global:
		p.held = later(p.held, until)
		p.global.drain(p.o.Limits.Global, until)
	case c == nil:
		j.notBefore = until
	default:
		c.held = later(c.held, until)
		c.sent.drain(c.limit, until)
	}
}

// holdChat is hold for what an earlier process was told.
func (p *plan) holdChat(chat int64, group bool, until, now time.Time) {
	c := p.chat(&job{Job: Job{Chat: chat, Group: group}})
	c.held = later(c.held, until)
	c.sent.drain(c.limit, until)
	p.place(c, now)
}

// settle decides whether a job is tried again. If not, its end is noted.
func (p *plan) settle(j *job, err error, v Verdict, at time.Time) (again bool) {
	switch {
	case err == nil || v.Kind == Permanent:
		p.end(j, err)
	case p.closed:
		p.end(j, fmt.Errorf("%w: %w", ErrClosed, err))
	case j.Class.light():
		p.end(j, err)
	case v.Kind == Retry && p.bounds(j).reached(j.Tried, at.Sub(j.born())):
		p.end(j, fmt.Errorf("%w after %d tries: %w", ErrGaveUp, j.Tried, err))
	default:
		return true
	}
	return false
}

func (p *plan) bounds(j *job) Bounds {
	if j.Class == Control {
		return p.o.Control
	}
	return p.o.Durable
}

// retry lets a job in flight wait for its next try. It has a delay of its own in
// an outage too: should it be the one job that breaks connections, the others are
// tried meanwhile.
func (p *plan) retry(j *job, v Verdict, at time.Time) {
	p.stats.Waiting[j.Class]++
	if j.Class == Control {
		p.controls = append(p.controls, j)
	}
	if v.Kind != Retry {
		return
	}
	p.stats.Retried++
	j.failures++
	next := at.Add(p.o.delay(j.failures))
	if j.Class == Control {
		j.notBefore = next
	} else {
		p.chats[j.Chat].sending.notBefore = next
	}
}

// landed takes a job out of flight, and its chat is given, if it has one. A job
// of a lane stays the lane's first if it is tried again.
func (p *plan) landed(j *job, again bool) *chat {
	j.running = false
	if j.Class == Control {
		return nil
	}
	c := p.chats[j.Chat]
	switch j.Class {
	case Progress:
		c.editing = nil
	case Hint:
		c.hints = slices.DeleteFunc(c.hints, func(other *job) bool { return other == j })
	default:
		if !again {
			c.pop(c.sending)
		}
		c.sending = nil
	}
	return c
}
