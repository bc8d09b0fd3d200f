package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessionTimeout ends sessions of clients that were not heard of for so long. A client that
// returns later has its session revived.
const sessionTimeout = time.Hour

// maxSessions bounds how many sessions there are at once. The one that was not used for the longest
// time makes room for another one; its client has it revived.
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

	mu    sync.Mutex // guards the fields below
	all   map[string]*session
	ended []string // by their clients, newest last
}

// A session was initialized by this process, or revived from an earlier one.
type session struct {
	http.Handler // of its requests

	usedAt time.Time
	unused *time.Timer
}

// errLongID refuses a session whose id was not made by any gateway.
var errLongID = errors.New("there is no such session; initialize another one")

// find returns the session with an id, and revives it if need be. The client speaks a version of the
// protocol; what it has told when it began the session is lost then.
func (s *sessions) find(ctx context.Context, id, version string) (*session, error) {
	if len(id) > maxSessionID {
		return nil, errLongID
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.all[id]; known != nil {
		known.usedAt = time.Now()
		known.unused.Reset(sessionTimeout)
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
	return s.add(id, transport), nil
}

// begun adds a session that a handler of the SDK has begun and serves.
func (s *sessions) begun(id string, by http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(id, by)
}

// add adds a session, and makes room for it. The caller holds the lock.
func (s *sessions) add(id string, handler http.Handler) *session {
	if len(s.all) >= maxSessions {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(s.all)), func(a, b string) int { return s.all[a].usedAt.Compare(s.all[b].usedAt) })
		go closeAll(s.take(oldest)) // ends when the session's calls have ended
	}
	added := &session{Handler: handler, usedAt: time.Now(), unused: time.AfterFunc(sessionTimeout, func() { s.drop(id) })}
	s.all[id] = added
	return added
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

// closeAll ends sessions when their calls have ended.
func closeAll(open []*sdk.ServerSession) {
	for _, session := range open {
		_ = session.Close()
	}
}

// drop ends a session, if there is one, and waits for its calls.
func (s *sessions) drop(id string) {
	s.mu.Lock()
	open := s.take(id)
	s.mu.Unlock()
	closeAll(open)
}

// end notes that the client has ended a session, which is then not revived.
func (s *sessions) end(id string) {
	if len(id) > maxSessionID {
		return
	}
	s.mu.Lock()
	s.ended = append(s.ended[max(0, len(s.ended)+1-maxEnded):], id)
	s.mu.Unlock()
	s.drop(id)
}

func (s *sessions) isEnded(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.ended, id)
}
