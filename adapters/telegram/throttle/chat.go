package throttle

import (
	"slices"
	"time"
)

// A job is a submitted Job and its state.
type job struct {
	Job
	submitted time.Time
	running   bool
	failures  int           // since submission
	unsure    int           // failed tries that may have arrived
	told      chan struct{} // if not nil, closed after the call of Done
}

// born returns the moment from which the age of the job counts.
func (j *job) born() time.Time {
	if !j.Since.IsZero() {
		return j.Since
	}
	return j.submitted
}

// A lane holds durable jobs in order. The first job may be in flight.
type lane struct {
	id        int
	jobs      []*job
	notBefore time.Time // next try of a failed first job
}

// A chat holds the jobs and the limits of one chat.
type chat struct {
	id       int64
	limit    Limit
	sent     bucket // of Durable and Progress
	hinted   bucket
	held     time.Time // end of a pause requested by Telegram
	lanes    []*lane   // with jobs; the longest without a turn first
	progress []*job    // waiting

	sending *lane  // lane with the first job in flight
	editing *job   // the Progress in flight
	hints   []*job // in flight

	turn    Class // list of the plan that the chat waits in, if waiting
	waiting bool
	alarm   time.Time // next call of place, if ringing
	index   int       // in the plan's alarms, -1: not in the alarms
}

// progressSpare is how many tokens Progress and Hint leave to durable jobs.
const progressSpare = 1

// lane returns a lane; nil if the lane has no jobs.
func (c *chat) lane(id int) *lane {
	for _, l := range c.lanes {
		if l.id == id {
			return l
		}
	}
	return nil
}

func (c *chat) push(j *job) {
	l := c.lane(j.Lane)
	if l == nil {
		l = &lane{id: j.Lane}
		c.lanes = append(c.lanes, l)
	}
	l.jobs = append(l.jobs, j)
}

// pop removes the first job of a lane.
func (c *chat) pop(l *lane) {
	l.jobs[0] = nil
	l.jobs = l.jobs[1:]
	if len(l.jobs) == 0 {
		c.lanes = slices.DeleteFunc(c.lanes, func(other *lane) bool { return other == l })
	}
}

// head returns the next lane among the lanes ready to try.
func (c *chat) head(now time.Time) *lane {
	for _, l := range c.lanes {
		if !l.notBefore.After(now) {
			return l
		}
	}
	return nil
}

// free returns the earliest moment when the chat's limits allow a job.
func (c *chat) free(spare int) time.Time { return later(c.held, c.sent.at(c.limit, spare)) }

// idle reports whether nothing waits and nothing is in flight.
func (c *chat) idle() bool {
	return len(c.lanes) == 0 && len(c.progress) == 0 && c.editing == nil && len(c.hints) == 0
}

// due reports whether a job of the chat can begin now, the job's class, and when the
// result may change without another event. Progress waits while a durable job is ready
// to try or in flight, but not for a durable job waiting for the next try.
func (c *chat) due(now time.Time) (turn Class, ready bool, again time.Time) {
	if c.sending != nil {
		return 0, false, time.Time{}
	}
	for _, l := range c.lanes {
		if l.notBefore.After(now) {
			again = sooner(again, later(l.notBefore, c.free(0)))
		}
	}
	spare := 0
	switch {
	case c.head(now) != nil:
		turn = Durable
	case len(c.progress) > 0 && c.editing == nil:
		turn, spare = Progress, progressSpare
	default:
		return 0, false, again
	}
	if at := c.free(spare); at.After(now) {
		return 0, false, sooner(again, at)
	}
	return turn, true, again
}

// take begins the job found by due.
func (c *chat) take(turn Class, now time.Time) *job {
	if turn == Progress {
		c.editing = c.progress[0]
		c.progress = slices.Delete(c.progress, 0, 1)
		return c.editing
	}
	l := c.head(now)
	c.sending = l
	c.lanes = append(slices.DeleteFunc(c.lanes, func(other *lane) bool { return other == l }), l)
	return l.jobs[0]
}
