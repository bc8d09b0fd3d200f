package throttle

import (
	"fmt"
	"slices"
	"time"
)

// An outage is a period without any answered job. A single job at a time probes for all
// jobs.
type outage struct {
	failures int       // in a row; 0: no outage
	until    time.Time // nothing is tried before
	probe    *job      // in flight to detect the end of the outage
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

// learn updates the outage. Failures of jobs in flight since before the outage are
// ignored.
func (p *plan) learn(j *job, err error, v Verdict, at time.Time) {
	probed := p.outage.probe == j
	if probed {
		p.outage.probe = nil
	}
	if p.closed {
		return // a job failing now was interrupted by close
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

// hold keeps a chat, or all chats, from sending during the pause in the verdict, or
// during the first delay if the verdict has no pause.
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

// holdChat is hold for a pause requested from an earlier process.
func (p *plan) holdChat(chat int64, group bool, until, now time.Time) {
	c := p.chat(&job{Job: Job{Chat: chat, Group: group}})
	c.held = later(c.held, until)
	c.sent.drain(c.limit, until)
	p.place(c, now)
}

// settle decides whether a job is tried again, and otherwise records the end of the job.
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

// retry makes a job in flight wait for the next try. The job has a separate delay in an
// outage too: if the job itself breaks connections, other jobs are tried meanwhile.
func (p *plan) retry(j *job, v Verdict, at time.Time) {
	p.stats.Waiting[j.Class]++
	if v.Kind != Retry {
		return
	}
	p.stats.Retried++
	j.failures++
	p.chats[j.Chat].sending.notBefore = at.Add(p.o.delay(j.failures))
}

// landed removes a job from flight and returns the job's chat. A durable job to be
// retried remains first in the lane.
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
