package botapi

import (
	"slices"
	"time"
)

// firstUpdateID is where a bot's updates begin: some positive number.
const firstUpdateID = 700_000_001

// queue holds the updates the bot has not acknowledged.
type queue struct {
	nextID  int64
	waiting []update
	allowed []string // the last list given; nil is the default
	poll    *poll    // the long poll that waits, if any
}

type update struct {
	id   int64
	wire object
}

// A poll is a getUpdates that waits.
type poll struct {
	ended chan *apiError // one error that ends it
}

func newQueue() queue { return queue{nextID: firstUpdateID} }

// pushLocked queues an update and returns its id; 0 says that the bot does not
// want such updates. The list in force now counts, not that of the poll.
func (s *Server) pushLocked(kind string, body object) int64 {
	q := &s.updates
	if q.allowed != nil && !slices.Contains(q.allowed, kind) {
		return 0
	}
	id := q.nextID
	q.nextID++
	q.waiting = append(q.waiting, update{id: id, wire: object{"update_id": id, kind: body}})
	s.changedLocked()
	return id
}

// Pending returns the ids of the updates that are not acknowledged.
func (s *Server) Pending() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := []int64{}
	for _, u := range s.updates.waiting {
		ids = append(ids, u.id)
	}
	return ids
}

// Polling reports whether a long poll waits.
func (s *Server) Polling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updates.poll != nil
}

const (
	maxUpdates     = 100              // core.telegram.org/bots/api#getupdates
	maxPollTimeout = 50 * time.Second // what the server makes of a longer one
)

// getUpdates: core.telegram.org/bots/api#getupdates
func (r *request) getUpdates() (any, error) {
	q := &r.s.updates
	if r.s.webhook.url != "" {
		return nil, conflict("can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	}
	if err := r.allowUpdates(); err != nil {
		return nil, err
	}
	limit := int(r.integer("limit"))
	if limit <= 0 || limit > maxUpdates {
		if limit != 0 {
			r.violate("limit %d is not 1 to 100", limit)
		}
		limit = maxUpdates
	}
	timeout := min(time.Duration(r.integer("timeout"))*time.Second, maxPollTimeout)
	r.acknowledge(r.integer("offset"))
	if len(q.waiting) == 0 && timeout > 0 {
		if err := r.waitForUpdate(timeout); err != nil {
			return nil, err
		}
	}
	batch := []object{}
	for _, u := range q.waiting[:min(limit, len(q.waiting))] {
		batch = append(batch, u.wire)
	}
	return batch, nil
}

// acknowledge forgets what is below the offset. A negative one keeps that many
// of the newest.
func (r *request) acknowledge(offset int64) {
	q := &r.s.updates
	if offset > q.nextID {
		// The server takes an offset far in the future for none.
		r.violate("offset %d, but the next update is %d", offset, q.nextID)
		return
	}
	if offset < 0 {
		q.waiting = q.waiting[max(0, len(q.waiting)+int(offset)):]
		return
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(u update) bool { return u.id < offset })
}

// waitForUpdate gives up the lock until there is an update. A poll that waits
// already is ended: of two bots with one token each sees it in turn.
func (r *request) waitForUpdate(timeout time.Duration) error {
	q := &r.s.updates
	q.endPoll(conflict(conflictText))
	mine := &poll{ended: make(chan *apiError, 1)}
	q.poll = mine
	r.s.changedLocked()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for len(q.waiting) == 0 {
		changed := r.s.changed
		r.s.mu.Unlock()
		var ended *apiError
		over := false
		select {
		case <-changed:
			select {
			case ended = <-mine.ended:
			default:
			}
		case ended = <-mine.ended:
		case <-timer.C:
			over = true
		case <-r.ctx.Done():
			over = true
		}
		r.s.mu.Lock()
		if ended != nil {
			return ended
		}
		if over {
			break
		}
	}
	if q.poll == mine {
		q.poll = nil
	}
	return nil
}

// endPoll answers the poll that waits, if there is one.
func (q *queue) endPoll(why *apiError) {
	if q.poll != nil {
		q.poll.ended <- why
		q.poll = nil
	}
}

// allowUpdates remembers the list until another is given. An empty one is the
// default.
func (r *request) allowUpdates() error {
	var list []string
	given, err := r.decode("allowed_updates", &list)
	if err != nil {
		return bad("can't parse allowed_updates JSON object")
	}
	if given {
		r.s.updates.allowed = nil
		if len(list) > 0 {
			r.s.updates.allowed = list
		}
	}
	return nil
}
