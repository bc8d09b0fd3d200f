package throttle

import (
	"slices"
	"time"
)

// A plan decides: it is told what was submitted, what has ended and what time it
// is, and says what begins now and when to ask again. It starts nothing, waits
// for nothing and reads no clock. Moments given to it never go back by more than
// events on two goroutines can overtake each other.
type plan struct {
	o        Options
	chats    map[int64]*chat // those with jobs, and those whose limits are not full again
	turns    turns
	alarms   alarms
	controls []*job
	hints    []*job // submitted since next was called

	global   bucket
	held     time.Time // the other side wants nothing of the bot before
	outage   outage
	inFlight int
	light    int // how many of those may be dropped

	ended  []ending // of which nobody was told yet
	closed bool
	stats  Stats
}

// An ending is a job and what its Done is to be told.
type ending struct {
	job *job
	err error
}

func newPlan(o Options) *plan { return &plan{o: o.withDefaults(), chats: map[int64]*chat{}} }

// submit takes a job.
func (p *plan) submit(spec Job, now time.Time) {
	j := &job{Job: spec, submitted: now}
	p.stats.Waiting[j.Class]++
	switch j.Class {
	case Control:
		p.controls = append(p.controls, j)
		return
	case Hint:
		p.hints = append(p.hints, j)
		return
	}
	c := p.chat(j)
	if j.Class == Progress {
		p.progress(c, j)
	} else {
		c.push(j)
	}
	p.place(c, now)
}

// chat finds the chat of a job, or makes it.
func (p *plan) chat(j *job) *chat {
	c := p.chats[j.Chat]
	if c == nil {
		c = &chat{id: j.Chat, index: -1}
		p.chats[j.Chat] = c
	}
	c.limit = p.o.Limits.Private
	if j.Group {
		c.limit = p.o.Limits.Group
	}
	return c
}

// progress puts a Progress in the place of the one with its key, or at the end.
func (p *plan) progress(c *chat, j *job) {
	if j.Key != "" {
		for i, old := range c.progress {
			if old.Key == j.Key {
				c.progress[i] = j
				p.end(old, ErrReplaced)
				return
			}
		}
	}
	c.progress = append(c.progress, j)
	if len(c.progress) > p.o.MaxProgress {
		p.end(c.progress[0], ErrDropped)
		c.progress = slices.Delete(c.progress, 0, 1)
	}
}

// place puts a chat where it belongs now: into a list of turns, under an alarm,
// or away.
func (p *plan) place(c *chat, now time.Time) {
	turn, ready, again := c.due(now)
	if ready {
		p.turns.join(c, turn)
	} else {
		p.turns.leave(c)
	}
	if c.idle() {
		again = later(c.held, later(c.sent.full, c.hinted.full))
		if !again.After(now) {
			again = time.Time{}
			delete(p.chats, c.id)
		}
	}
	p.alarms.set(c, again)
}

// next says which jobs begin now, and when to ask again if nothing else happens
// before; zero is never. They are in flight until finish is told of them.
func (p *plan) next(now time.Time) (begun []*job, again time.Time) {
	for c := p.alarms.due(now); c != nil; c = p.alarms.due(now) {
		p.place(c, now)
	}
	for j := p.pick(now); j != nil; j = p.pick(now) {
		p.begin(j, now)
		begun = append(begun, j)
	}
	for _, j := range p.hints {
		if !p.hint(j, now) {
			p.end(j, ErrDropped)
			continue
		}
		p.begin(j, now)
		begun = append(begun, j)
	}
	clear(p.hints)
	p.hints = p.hints[:0]
	return begun, p.again(now)
}

// pick takes out the job that is to begin now, nil if none is.
func (p *plan) pick(now time.Time) *job {
	if !p.open(now) {
		return nil
	}
	if p.room(Control) && !p.tokenAt(Control).After(now) {
		i := slices.IndexFunc(p.controls, func(j *job) bool { return !j.notBefore.After(now) })
		if i >= 0 {
			j := p.controls[i]
			p.controls = slices.Delete(p.controls, i, i+1)
			return j
		}
	}
	for class := Final; class <= Progress; class++ {
		if c := p.turns.first(class); c != nil && p.room(class) && !p.tokenAt(class).After(now) {
			return c.take(class, now)
		}
	}
	return nil
}

// open reports whether anything may begin: nothing while all is held, and while
// nothing is answered one job at a time.
func (p *plan) open(now time.Time) bool {
	return !p.closed && !p.opensAt().After(now) && p.outage.probe == nil
}

func (p *plan) opensAt() time.Time { return later(p.held, p.outage.until) }

// room reports whether another job of the class may be in flight.
func (p *plan) room(class Class) bool {
	if class == Control {
		return p.inFlight < p.o.InFlight
	}
	if class.light() && p.light >= max(1, p.o.InFlight/2) {
		return false
	}
	return p.inFlight < p.o.InFlight-p.o.InFlight/8
}

// tokenAt is the moment from which on the bot's limit allows a job of the class.
func (p *plan) tokenAt(class Class) time.Time {
	if class.light() {
		return p.global.at(p.o.Limits.Global, progressSpare)
	}
	return p.global.at(p.o.Limits.Global, 0)
}

// hint reports whether a Hint can go at once, and notes that it does.
func (p *plan) hint(j *job, now time.Time) bool {
	c := p.chat(j)
	free := p.open(now) && p.outage.failures == 0 && p.room(Hint) && !p.tokenAt(Hint).After(now) &&
		!later(c.held, c.hinted.at(p.o.Limits.Hint, 0)).After(now) &&
		!slices.ContainsFunc(c.hints, func(other *job) bool { return j.Key != "" && other.Key == j.Key })
	if free {
		c.hints = append(c.hints, j)
	} else {
		p.place(c, now) // it may be there for this Hint alone
	}
	return free
}

// begin notes that a job is in flight.
func (p *plan) begin(j *job, now time.Time) {
	j.running = true
	p.stats.Waiting[j.Class]--
	p.inFlight++
	if j.Class.light() {
		p.light++
	}
	if p.outage.failures > 0 {
		p.outage.probe = j
	}
	p.global.take(p.o.Limits.Global, now)
	if j.Class == Control {
		return
	}
	c := p.chats[j.Chat]
	if j.Class == Hint {
		c.hinted.take(p.o.Limits.Hint, now)
	} else {
		c.sent.take(c.limit, now)
	}
	p.place(c, now)
}

// again is when something that waits may begin, as far as time decides that.
func (p *plan) again(now time.Time) time.Time {
	at := p.alarms.next()
	if p.outage.probe != nil {
		return at
	}
	for _, j := range p.controls {
		at = sooner(at, p.awaits(later(j.notBefore, p.tokenAt(Control)), now))
	}
	for class := Final; class <= Progress; class++ {
		if len(p.turns[class]) > 0 {
			at = sooner(at, p.awaits(p.tokenAt(class), now))
		}
	}
	return at
}

// awaits is that moment, or the one at which all that is held may go on, and zero
// if it is past: then a job that is in flight is waited for.
func (p *plan) awaits(at, now time.Time) time.Time {
	if at = later(at, p.opensAt()); at.After(now) {
		return at
	}
	return time.Time{}
}

// cancel withdraws what waits under a key, and gives what is in flight.
func (p *plan) cancel(chatID int64, key string, now time.Time) (inFlight []*job) {
	c := p.chats[chatID]
	withdraw := func(j *job) bool {
		mine := j.Chat == chatID && j.Key == key
		if mine {
			p.end(j, ErrCanceled)
		}
		return mine
	}
	p.hints = slices.DeleteFunc(p.hints, withdraw)
	if c == nil {
		return nil
	}
	c.progress = slices.DeleteFunc(c.progress, withdraw)
	if c.editing != nil && c.editing.Key == key {
		inFlight = append(inFlight, c.editing)
	}
	for _, j := range c.hints {
		if j.Key == key {
			inFlight = append(inFlight, j)
		}
	}
	p.place(c, now)
	return inFlight
}

// end notes what a job's Done is to be told.
func (p *plan) end(j *job, err error) {
	if !j.running {
		p.stats.Waiting[j.Class]--
	}
	p.stats.count(j, err)
	p.ended = append(p.ended, ending{j, err})
}

// take gives the endings of which nobody was told yet.
func (p *plan) take() []ending {
	ended := p.ended
	p.ended = nil
	return ended
}

// close ends all that is not in flight. Nothing begins any more.
func (p *plan) close() {
	p.closed = true
	for _, j := range slices.Concat(p.controls, p.hints) {
		p.end(j, ErrClosed)
	}
	p.controls, p.hints = nil, nil
	for _, c := range p.chats {
		for _, l := range slices.Clone(c.lanes) {
			waits := l.jobs
			if l == c.sending {
				waits = waits[1:]
			}
			for _, j := range waits {
				p.end(j, ErrClosed)
			}
			l.jobs = l.jobs[:len(l.jobs)-len(waits)]
		}
		c.lanes = slices.DeleteFunc(c.lanes, func(l *lane) bool { return len(l.jobs) == 0 })
		for _, j := range c.progress {
			p.end(j, ErrClosed)
		}
		c.progress = nil
	}
}
