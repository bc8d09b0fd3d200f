package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessionTimeout ends sessions of clients that were not heard of for so long. A client that
// returns later has its session revived.
const sessionTimeout = time.Hour

// maxSessions bounds how many sessions there are at once, unless all have requests under way. The one that was
// not used for the longest time makes room for another one; its client has it revived.
const maxSessions = 1000

// maxSessionID bounds the id of a session, in bytes. The ids that are made here have 26.
const maxSessionID = 128

// maxEnded bounds how many sessions are known to have been ended by their clients.
const maxEnded = 1000

// sessions keeps the sessions of clients. It revives those that it does not know: an earlier process
// has begun them, or they were not used for long. Clients do not initialize again when they learn
// that a session is gone, but fail until they are restarted.
type sessions struct {
	server *sdk.Server
	events sdk.EventStore

	mu       sync.Mutex // guards the fields below, and those of each session
	all      map[string]*session
	ended    []string // by their clients, newest last
	isClosed bool     // no session is revived any more
}

// A session was initialized by this process, or revived from an earlier one.
type session struct {
	http.Handler // of its requests

	id       string
	requests int // under way; a session that has any is not ended for want of use
	usedAt   time.Time
	unused   *time.Timer
}

// errNoSession refuses a session whose id was not made by any gateway, or whose server has ended.
var errNoSession = errors.New("there is no such session; initialize another one")

// find returns the session with an id, and revives it if need be. The client speaks a version of the
// protocol; what it has told when it began the session is lost then. The session has a request more, until the
// caller calls release.
func (s *sessions) find(ctx context.Context, id, version string) (*session, error) {
	if len(id) > maxSessionID {
		return nil, errNoSession
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed {
		return nil, errNoSession
	}
	if known := s.all[id]; known != nil {
		known.requests++
		return known, nil
	}
	transport := &sdk.StreamableServerTransport{SessionID: id, EventStore: s.events}
	_, err := s.server.Connect(context.WithoutCancel(ctx), transport, &sdk.ServerSessionOptions{State: &sdk.ServerSessionState{
		InitializeParams:  &sdk.InitializeParams{ProtocolVersion: cmp.Or(version, "2025-03-26")}, // older versions have no such header
		InitializedParams: &sdk.InitializedParams{},
	}})
	if err != nil {
		return nil, fmt.Errorf("revive the session: %w", err)
	}
	added := s.add(id, transport)
	added.requests++
	return added, nil
}

// release takes a request from those of a session that find has returned. The time without use begins with the
// last one.
func (s *sessions) release(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.requests--
	one.usedAt = time.Now()
	if s.all[one.id] == one {
		one.unused.Reset(sessionTimeout)
	}
}

// begun adds a session that a handler of the SDK has begun and serves.
func (s *sessions) begun(id string, by http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(id, by)
}

// add adds a session, and makes room for it. The caller holds the lock.
func (s *sessions) add(id string, handler http.Handler) *session {
	for len(s.all) >= maxSessions {
		oldest := s.oldest()
		if oldest == nil {
			break
		}
		go closeAll(s.take(oldest.id)) // ends when the session's calls have ended
	}
	added := &session{
		Handler: handler,
		id:      id,
		usedAt:  time.Now(),
	}
	added.unused = time.AfterFunc(sessionTimeout, func() { s.expire(added) })
	s.all[id] = added
	return added
}

// oldest returns the session that was not used for the longest time; nil: all have requests under way. The caller
// holds the lock.
func (s *sessions) oldest() (oldest *session) {
	for _, one := range s.all {
		if one.requests == 0 && (oldest == nil || one.usedAt.Before(oldest.usedAt)) {
			oldest = one
		}
	}
	return oldest
}

// take removes a session, if there is one, and returns what the caller must close. The caller holds
// the lock.
func (s *sessions) take(id string) (open []*sdk.ServerSession) {
	taken := s.all[id]
	if taken == nil {
		return nil
	}
	taken.unused.Stop()
	delete(s.all, id)
	for session := range s.server.Sessions() {
		if session.ID() == id {
			open = append(open, session)
		}
	}
	return open
}

// closeAll ends sessions, all at once, and waits for their calls, whose answers are lost.
func closeAll(open []*sdk.ServerSession) {
	var closing sync.WaitGroup
	for _, session := range open {
		closing.Go(func() { _ = session.Close() })
	}
	closing.Wait()
}

// expire ends a session that was not used for long. The session stays if a request has come meanwhile.
func (s *sessions) expire(one *session) {
	s.mu.Lock()
	var open []*sdk.ServerSession
	if s.all[one.id] == one && one.requests == 0 && time.Since(one.usedAt) >= sessionTimeout {
		open = s.take(one.id)
	}
	s.mu.Unlock()
	closeAll(open)
}

// end notes that the client has ended a session, which is then not revived, and waits for its calls.
func (s *sessions) end(id string) {
	if len(id) > maxSessionID {
		return
	}
	s.mu.Lock()
	s.ended = append(s.ended[max(0, len(s.ended)+1-maxEnded):], id)
	open := s.take(id)
	s.mu.Unlock()
	closeAll(open)
}

// close forgets all sessions, which the caller ends, and revives none any more.
func (s *sessions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isClosed = true
	for _, one := range s.all {
		one.unused.Stop()
	}
	clear(s.all)
}

func (s *sessions) isEnded(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.ended, id)
}
