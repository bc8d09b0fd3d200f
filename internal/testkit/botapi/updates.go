package botapi

import (
	"slices"
	"time"
)

const (
	// firstUpdateID is where a bot's updates begin: some positive number.
	firstUpdateID = 700_000_001

	maxUpdates     = 100              // core.telegram.org/bots/api#getupdates
	maxPollTimeout = 50 * time.Second // what the server makes of a longer one
)

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
type poll struct{ ended *apiError }

// pushLocked queues an update and returns its id; 0 says that the bot does not want such
// updates. The list in force now counts, not that of the poll.
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
func (s *Server) Polling() bool { return locked(s, func() bool { return s.updates.poll != nil }) }

// getUpdates: core.telegram.org/bots/api#getupdates
func (r *request) getUpdates() (any, error) {
	q := &r.s.updates
	if r.s.webhook != "" {
		return nil, hooked
	}
	if r.text("allowed_updates") != "" { // remembered until another list is given; an empty one is the default
		q.allowed = nil
		r.decode("allowed_updates", &q.allowed)
		if len(q.allowed) == 0 {
			q.allowed = nil
		}
	}
	limit := int(r.integer("limit"))
	if limit <= 0 || limit > maxUpdates {
		limit = maxUpdates
	}
	r.acknowledge(r.integer("offset"))
	timeout := min(time.Duration(r.integer("timeout"))*time.Second, maxPollTimeout)
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

// acknowledge forgets what is below the offset. A negative one keeps that many of the
// newest.
func (r *request) acknowledge(offset int64) {
	q := &r.s.updates
	switch {
	case offset > q.nextID: // the server takes an offset far in the future for none
		r.violate("offset %d, but the next update is %d", offset, q.nextID)
	case offset < 0:
		q.waiting = q.waiting[max(0, len(q.waiting)+int(offset)):]
	default:
		q.waiting = slices.DeleteFunc(q.waiting, func(u update) bool { return u.id < offset })
	}
}

// waitForUpdate gives up the lock until there is an update. A poll that waits already is
// ended: of two bots with one token each sees it in turn.
func (r *request) waitForUpdate(timeout time.Duration) error {
	q := &r.s.updates
	q.endPoll(otherPoll)
	mine := &poll{}
	q.poll = mine
	r.s.changedLocked()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for over := false; !over && len(q.waiting) == 0 && mine.ended == nil; {
		changed := r.s.changed
		r.s.mu.Unlock()
		select {
		case <-changed:
		case <-timer.C:
			over = true
		case <-r.http.Context().Done():
			over = true
		}
		r.s.mu.Lock()
	}
	if mine.ended != nil {
		return mine.ended
	}
	q.poll = nil
	return nil
}

// endPoll ends the poll that waits, if there is one, when the caller says that something
// has changed.
func (q *queue) endPoll(why *apiError) {
	if q.poll != nil {
		q.poll.ended, q.poll = why, nil
	}
}

// SetWebhook sets the bot's webhook. Nothing is ever sent there.
func (s *Server) SetWebhook(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.webhook = url
	s.updates.endPoll(hooked)
	s.changedLocked()
}

// deleteWebhook: core.telegram.org/bots/api#deletewebhook
func (r *request) deleteWebhook() (any, error) {
	r.s.webhook = ""
	return true, nil
}

// getWebhookInfo: core.telegram.org/bots/api#getwebhookinfo
func (r *request) getWebhookInfo() (any, error) {
	return object{"url": r.s.webhook, "has_custom_certificate": false, "pending_update_count": len(r.s.updates.waiting)}, nil
}
