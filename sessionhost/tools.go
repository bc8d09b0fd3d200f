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
	return h.tools.set(b, protocol.ListID(results[claude.MethodList]))
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

func (t *toolServer) set(b []byte, list string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.removed {
		return nil
	}
	if err := atomicfile.Write(t.path, b, 0o600); err != nil {
		return fmt.Errorf("write the answers of the tool server: %w", err)
	}
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
