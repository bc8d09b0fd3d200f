package throttle

import (
	"fmt"
	"slices"
	"time"
)

// An outage is a period in which no job is answered. One job at a time probes for all.
type outage struct {
	failures int       // in a row; 0: there is no outage
	until    time.Time // nothing is tried before
	probe    *job      // in flight to see whether it is over
}

// finish takes the result of a job in flight. The verdict counts only with an error.
func (p *plan) finish(j *job, err error, v Verdict, at time.Time) {
	p.inFlight--
	if j.Class.droppable() {
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
		p.hold(c, v, at)
	}
	p.place(c, at)
}

// learn updates the outage. Failures of jobs that were in flight when it began are no news.
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

// hold keeps a chat, or all chats, from sending for the pause that the other side named, or
// for the first delay if it named none.
func (p *plan) hold(c *chat, v Verdict, at time.Time) {
	p.stats.Limited++
	until := at.Add(v.For)
	if v.For <= 0 {
		until = at.Add(p.o.FirstDelay)
	}
	switch {
	case v.Global:
		p.held = later(p.held, until)
		p.global.drain(p.o.Limits.Global, until)
	default:
		c.held = later(c.held, until)
		c.sent.drain(c.limit, until)
	}
}

// holdChat is hold for a pause that an earlier process was told.
func (p *plan) holdChat(chat int64, group bool, until, now time.Time) {
	c := p.chat(&job{Job: Job{Chat: chat, Group: group}})
	c.held = later(c.held, until)
	c.sent.drain(c.limit, until)
	p.place(c, now)
}

// settle decides whether a job is tried again. If not, it notes the end.
func (p *plan) settle(j *job, err error, v Verdict, at time.Time) (again bool) {
	switch {
	case err == nil || v.Kind == Permanent:
		p.end(j, err)
	case p.closed:
		p.end(j, fmt.Errorf("%w: %w", ErrClosed, err))
	case j.Class.droppable():
		p.end(j, err)
	case v.Kind == Retry && p.o.Durable.reached(j.Tried, at.Sub(j.born())):
		p.end(j, fmt.Errorf("%w after %d tries: %w", ErrGaveUp, j.Tried, err))
	default:
		return true
	}
	return false
}

// retry lets a job in flight wait for its next try. The job has a delay of its own in an
// outage too: should this job break connections, others are tried meanwhile.
func (p *plan) retry(j *job, v Verdict, at time.Time) {
	p.stats.Waiting[j.Class]++
	if v.Kind != Retry {
		return
	}
	p.stats.Retried++
	j.failures++
	p.chats[j.Chat].sending.notBefore = at.Add(p.o.delay(j.failures))
}

// landed takes a job out of flight and returns its chat. A durable job that is tried again
// stays the first of its lane.
func (p *plan) landed(j *job, again bool) *chat {
	j.running = false
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
