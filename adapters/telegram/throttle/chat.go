package throttle

import (
	"slices"
	"time"
)

// A job is a Job that was taken, and what became of it so far.
type job struct {
	Job
	submitted time.Time
	running   bool
	failures  int           // since it was submitted
	unsure    int           // tries that may have arrived
	notBefore time.Time     // of a Control
	told      chan struct{} // if not nil, closed when its Done was told
}

// born is the moment from which its age counts.
func (j *job) born() time.Time {
	if !j.Since.IsZero() {
		return j.Since
	}
	return j.submitted
}

// A lane is what must arrive in order. Its first job may be in flight.
type lane struct {
	id        int
	jobs      []*job
	finals    int
	notBefore time.Time // a failed first job is not tried again sooner
}

// rank is the class by which the lane takes its turn: an Approval that a Final
// waits behind is as urgent as that.
func (l *lane) rank() Class {
	if l.finals > 0 {
		return Final
	}
	return Approval
}

// A chat is what waits for one chat, and what it may have.
type chat struct {
	id       int64
	limit    Limit
	sent     bucket // of Final, Approval and Progress
	hinted   bucket
	held     time.Time // the other side wants nothing before
	lanes    []*lane   // those with jobs; the one whose turn was longest ago first
	progress []*job    // what waits

	sending *lane  // its first job is in flight
	editing *job   // the Progress in flight
	hints   []*job // in flight

	turn    Class // the list of the plan in which it waits, if waiting
	waiting bool
	alarm   time.Time // when to look at it again, if ringing
	index   int       // in the plan's alarms, -1: not there
}

// progressSpare is how many tokens Progress and Hint leave to those that matter
// more.
const progressSpare = 1

// lane finds a lane, nil if nothing waits in it.
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
	if j.Class == Final {
		l.finals++
	}
}

// pop forgets the first job of a lane.
func (c *chat) pop(l *lane) {
	if l.jobs[0].Class == Final {
		l.finals--
	}
	l.jobs[0] = nil
	l.jobs = l.jobs[1:]
	if len(l.jobs) == 0 {
		c.lanes = slices.DeleteFunc(c.lanes, func(other *lane) bool { return other == l })
	}
}

// head is the lane whose turn it is, among those that can be tried now.
func (c *chat) head(now time.Time) *lane {
	var best *lane
	for _, l := range c.lanes {
		if !l.notBefore.After(now) && (best == nil || l.rank() < best.rank()) {
			best = l
		}
	}
	return best
}

// free is the moment from which on the chat's limits allow something.
func (c *chat) free(spare int) time.Time { return later(c.held, c.sent.at(c.limit, spare)) }

// idle reports whether nothing waits and nothing is in flight.
func (c *chat) idle() bool {
	return len(c.lanes) == 0 && len(c.progress) == 0 && c.editing == nil && len(c.hints) == 0
}

// due says whether something of the chat can begin now, and with which class it
// takes its turn; and when, without any other event, that may change. While a
// job that must arrive can be tried, or is in flight, Progress waits; one that
// waits for its next try does not hold it up.
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
	switch l := c.head(now); {
	case l != nil:
		turn = l.rank()
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

// take begins what due has found: it is in flight from now on.
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
