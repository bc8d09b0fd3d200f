package throttle

import (
	"slices"
	"time"
)

// A plan decides which jobs begin, and when to call next again. A plan starts nothing,
// waits for nothing and reads no clock. The times passed to a plan never decrease,
// except where events on two goroutines overtake each other.
type plan struct {
	o      Options
	chats  map[int64]*chat // with jobs, or with limits not full again
	turns  turns
	alarms alarms
	hints  []*job // submitted since next was called

	global   bucket
	held     time.Time // end of a pause of the whole bot requested by Telegram
	outage   outage
	inFlight int
	light    int // droppable jobs in flight

	ended  []ending // endings with Done not called yet
	closed bool
	stats  Stats
}

// An ending is an ended job and the result.
type ending struct {
	job *job
	err error
}

func newPlan(o Options) *plan { return &plan{o: o.withDefaults(), chats: map[int64]*chat{}} }

// submit adds a job.
func (p *plan) submit(spec Job, now time.Time) {
	j := &job{Job: spec, submitted: now}
	p.stats.Waiting[j.Class]++
	if j.Class == Hint {
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

// chat returns the chat of a job.
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

// progress adds a Progress, or replaces the Progress with the same key.
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

// place updates the turn and the alarm of a chat, and removes an idle chat.
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

// next returns the jobs to begin now, and when to call next again if nothing else
// happens; zero is never. The jobs are in flight until finish.
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

// pick returns the next job able to begin now; nil: none.
func (p *plan) pick(now time.Time) *job {
	if !p.open(now) {
		return nil
	}
	for class := Durable; class <= Progress; class++ {
		if c := p.turns.first(class); c != nil && p.room(class) && !p.tokenAt(class).After(now) {
			return c.take(class, now)
		}
	}
	return nil
}

// open reports whether a job may begin: none during a pause of all jobs, and during an
// outage a single job at a time.
func (p *plan) open(now time.Time) bool {
	return !p.closed && !p.opensAt().After(now) && p.outage.probe == nil
}

func (p *plan) opensAt() time.Time { return later(p.held, p.outage.until) }

// room reports whether another job of the class may be in flight.
func (p *plan) room(class Class) bool {
	if class.droppable() && p.light >= max(1, p.o.InFlight/2) {
		return false
	}
	return p.inFlight < p.o.InFlight
}

// tokenAt returns the earliest moment when the bot's limit allows a job of the class.
func (p *plan) tokenAt(class Class) time.Time {
	if class.droppable() {
		return p.global.at(p.o.Limits.Global, progressSpare)
	}
	return p.global.at(p.o.Limits.Global, 0)
}

// hint reports whether a Hint can go at once, and if possible begins the Hint.
func (p *plan) hint(j *job, now time.Time) bool {
	c := p.chat(j)
	free := p.open(now) && p.outage.failures == 0 && p.room(Hint) && !p.tokenAt(Hint).After(now) &&
		!later(c.held, c.hinted.at(p.o.Limits.Hint, 0)).After(now) &&
		!slices.ContainsFunc(c.hints, func(other *job) bool { return j.Key != "" && other.Key == j.Key })
	if free {
		c.hints = append(c.hints, j)
	} else {
		p.place(c, now) // the chat may exist for the Hint alone
	}
	return free
}

// begin marks a job as in flight.
func (p *plan) begin(j *job, now time.Time) {
	j.running = true
	p.stats.Waiting[j.Class]--
	p.inFlight++
	if j.Class.droppable() {
		p.light++
	}
	if p.outage.failures > 0 {
		p.outage.probe = j
	}
	p.global.take(p.o.Limits.Global, now)
	c := p.chats[j.Chat]
	if j.Class == Hint {
		c.hinted.take(p.o.Limits.Hint, now)
	} else {
		c.sent.take(c.limit, now)
	}
	p.place(c, now)
}

// again returns when a waiting job may begin, as far as time decides.
func (p *plan) again(now time.Time) time.Time {
	at := p.alarms.next()
	if p.outage.probe != nil {
		return at
	}
	for class := Durable; class <= Progress; class++ {
		if len(p.turns[class]) > 0 {
			at = sooner(at, p.awaits(p.tokenAt(class), now))
		}
	}
	return at
}

// awaits returns the moment at, or the end of a pause of all jobs if later. awaits
// returns zero for a past moment: then the end of a job in flight comes first.
func (p *plan) awaits(at, now time.Time) time.Time {
	if at = later(at, p.opensAt()); at.After(now) {
		return at
	}
	return time.Time{}
}

// cancel withdraws the jobs waiting under a key, and returns the jobs in flight.
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

// end queues a job and the result for take.
func (p *plan) end(j *job, err error) {
	if !j.running {
		p.stats.Waiting[j.Class]--
	}
	p.stats.count(j, err)
	p.ended = append(p.ended, ending{j, err})
}

// take returns the endings with Done not called yet.
func (p *plan) take() []ending {
	ended := p.ended
	p.ended = nil
	return ended
}

// close ends all jobs except the jobs in flight. No further job begins.
func (p *plan) close() {
	p.closed = true
	for _, j := range p.hints {
		p.end(j, ErrClosed)
	}
	p.hints = nil
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
