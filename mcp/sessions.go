package mcp

import (
	"cmp"
	"context"
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

// maxRevived bounds how many sessions are revived at once. The one that was not used for the longest
// time makes room for another one.
const maxRevived = 1000

// maxEnded bounds how many sessions are known to have been ended by their clients.
const maxEnded = 1000

// sessions revives sessions that the SDK's handler does not know: an earlier process has begun
// them, or they were not used for long. Clients do not initialize again when they learn that a
// session is gone, but fail until they are restarted.
type sessions struct {
	server *sdk.Server
	events sdk.EventStore

	mu      sync.Mutex // guards the fields below
	revived map[string]*revived
	ended   []string // by their clients, newest last
}

// A revived session is one that goes on without a handshake.
type revived struct {
	*sdk.StreamableServerTransport
	session *sdk.ServerSession
	usedAt  time.Time
	unused  *time.Timer
}

// isOwn reports whether the SDK's handler has the session.
func (s *sessions) isOwn(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revived[id] != nil {
		return false
	}
	for session := range s.server.Sessions() {
		if session.ID() == id {
			return true
		}
	}
	return false
}

// revive returns the session with an id, whose client speaks a version of the protocol. What the
// client has told when it began the session is lost.
func (s *sessions) revive(ctx context.Context, id, version string) (http.Handler, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.revived[id]; r != nil {
		r.usedAt = time.Now()
		r.unused.Reset(sessionTimeout)
		return r, nil
	}
	if len(s.revived) >= maxRevived {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(s.revived)), func(a, b string) int { return s.revived[a].usedAt.Compare(s.revived[b].usedAt) })
		go s.take(oldest).close() // ends when the session's calls have ended
	}
	r := &revived{usedAt: time.Now(), StreamableServerTransport: &sdk.StreamableServerTransport{SessionID: id, EventStore: s.events}}
	var err error
	r.session, err = s.server.Connect(context.WithoutCancel(ctx), r.StreamableServerTransport, &sdk.ServerSessionOptions{State: &sdk.ServerSessionState{
		InitializeParams:  &sdk.InitializeParams{ProtocolVersion: cmp.Or(version, "2025-03-26")}, // older versions have no such header
		InitializedParams: &sdk.InitializedParams{},
	}})
	if err != nil {
		return nil, fmt.Errorf("revive the session: %w", err)
	}
	r.unused = time.AfterFunc(sessionTimeout, func() { s.drop(id) })
	s.revived[id] = r
	return r, nil
}

// take removes a revived session and returns it; nil if there is none. The caller holds the lock.
func (s *sessions) take(id string) *revived {
	r := s.revived[id]
	delete(s.revived, id)
	return r
}

// close ends the session when its calls have ended.
func (r *revived) close() {
	if r != nil {
		r.unused.Stop()
		_ = r.session.Close()
	}
}

// drop ends a revived session, if there is one, and waits for its calls.
func (s *sessions) drop(id string) {
	s.mu.Lock()
	r := s.take(id)
	s.mu.Unlock()
	r.close()
}

// end notes that the client has ended a session, which is then not revived.
func (s *sessions) end(id string) {
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
