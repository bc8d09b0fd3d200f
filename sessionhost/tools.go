package sessionhost

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"bareclaw/internal/atomicfile"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// A toolServer is what the sessions of the gateway know of its tools: the hosts' own answers,
// in one file that all hosts read, and the connected sessions, which are told of changes.
type toolServer struct {
	path string

	mu       sync.Mutex // guards the fields below
	removed  bool       // the file: sessions are gone for good
	list     string     // protocol.ListID of the present list of tools
	changes  int
	sessions map[*session]struct{}
}

// SetToolAnswers replaces the answers that hosts give to MCP requests, by method, and tells
// each claude if the list of tools has changed.
func (h *Hosts) SetToolAnswers(results map[string]json.RawMessage) error {
	b, err := json.Marshal(results)
	if err != nil {
		return fmt.Errorf("encode the answers of the tool server: %w", err)
	}
	return h.tools.set(b)
}

// RemoveToolAnswers removes the hosts' answers, once all sessions have ended. A later
// SetToolAnswers does nothing.
func (h *Hosts) RemoveToolAnswers() error {
	h.tools.mu.Lock()
	defer h.tools.mu.Unlock()
	h.tools.removed = true
	if err := os.Remove(h.tools.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the answers of the tool server: %w", err)
	}
	return nil
}

// newToolServer begins with what an earlier daemon has left: a session is told only of what has
// changed since.
func newToolServer(path string) toolServer {
	b, _ := os.ReadFile(path) // none yet: no list
	return toolServer{path: path, list: listIn(b), sessions: map[*session]struct{}{}}
}

// listIn returns the protocol.ListID that hosts compute of the file's list of tools.
func listIn(b []byte) string {
	var results map[string]json.RawMessage
	_ = json.Unmarshal(b, &results) // a damaged file has no list
	return protocol.ListID(results[claude.MethodList])
}

func (t *toolServer) set(b []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.removed {
		return nil
	}
	if err := atomicfile.Write(t.path, b, 0o600); err != nil {
		return fmt.Errorf("write the answers of the tool server: %w", err)
	}
	list := listIn(b)
	if t.list == list {
		return nil
	}
	t.list = list
	t.changes++
	for s := range t.sessions {
		s.tellToolsChanged()
	}
	return nil
}

// begin returns a number for add, before the session's handshake.
func (t *toolServer) begin() (changes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes
}

// add makes the session hear of changes, and of a change since its claude asked for the list.
func (t *toolServer) add(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sessions[s] = struct{}{}
	if t.changes != s.toolChanges || s.toolList != "" && s.toolList != t.list {
		s.tellToolsChanged()
	}
}

func (t *toolServer) remove(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.sessions, s)
}
