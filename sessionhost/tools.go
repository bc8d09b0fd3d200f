package sessionhost

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"bareclaw/internal/atomicfile"
	"bareclaw/internal/toolset"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// ToolAnswers has the hosts' own answers to MCP requests.
type ToolAnswers interface {
	// Answers returns the answers, by method, for sessions that may use a set of tools; for "",
	// the gateway's own set.
	Answers(set toolset.Set) map[string]json.RawMessage
}

// A toolServer is what the sessions of the gateway know of its tools: the hosts' own answers, in
// one file for all hosts whose sessions may use the same tools, and the connected sessions, which
// are told of changes.
type toolServer struct {
	path string

	mu       sync.Mutex             // guards the fields below
	answers  ToolAnswers            // nil before ServeTools
	removed  bool                   // the files: sessions are gone for good
	lists    map[toolset.Set]string // protocol.ListID of the present list of tools, by set; "" is the gateway's set
	changes  int
	sessions map[*session]struct{}
}

// methodSet stands among the answers of a file for a set of its own, and names the set. No claude
// asks for the method.
const methodSet = "bareclaw/tools"

// ServeTools gives sessions the gateway's tools. It must be called before a session is started.
// What an earlier daemon has left stays until OfferTools: the tools of the tool host are not known
// at first, and must not be taken away for a moment. Where nothing is left, the answers are
// written, so that a host of an earlier daemon can answer claude at once.
func (h *Hosts) ServeTools(answers ToolAnswers) error {
	h.tools.mu.Lock()
	h.tools.answers = answers
	h.tools.mu.Unlock()
	if _, err := os.Stat(h.tools.path); err == nil || h.tools.path == "" {
		return nil
	}
	return h.OfferTools()
}

// OfferTools writes the answers that hosts give to MCP requests anew, and tells each claude if a
// list of tools has changed.
func (h *Hosts) OfferTools() error {
	t := &h.tools
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.removed {
		return nil
	}
	before := maps.Clone(t.lists)
	var errs []error
	for set := range before {
		errs = append(errs, t.writeLocked(set))
	}
	if !maps.Equal(before, t.lists) {
		t.changes++
		for s := range t.sessions {
			s.tellToolsChanged() // also a session whose list is the same, which claude then finds
		}
	}
	return errors.Join(errs...)
}

// RemoveToolAnswers removes the hosts' answers, once all sessions have ended. A later OfferTools
// does nothing.
func (h *Hosts) RemoveToolAnswers() error {
	t := &h.tools
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removed = true
	var errs []error
	for set := range t.lists {
		if err := os.Remove(t.file(set)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove the answers of the tool server: %w", err))
		}
	}
	return errors.Join(errs...)
}

// newToolServer begins with what an earlier daemon has left: a session is told only of what has
// changed since.
func newToolServer(path string) toolServer {
	return toolServer{path: path, lists: leftLists(path), sessions: map[*session]struct{}{}}
}

// leftLists returns the lists in the files that are there.
func leftLists(path string) map[toolset.Set]string {
	lists := map[toolset.Set]string{}
	b, _ := os.ReadFile(path) // none yet: no list
	_, lists[""] = setAndList(b)
	left, _ := globIn(filepath.Dir(path), strings.TrimSuffix(filepath.Base(path), ".json")+"-*.json") // the pattern is well-formed
	for _, file := range left {
		b, _ := os.ReadFile(file)
		if set, list := setAndList(b); set != "" {
			lists[set] = list
		}
	}
	return lists
}

// setAndList returns the set of a file's answers, and the protocol.ListID that hosts compute of
// their list of tools. A damaged file has no set and no list.
func setAndList(b []byte) (set toolset.Set, list string) {
	var results map[string]json.RawMessage
	_ = json.Unmarshal(b, &results)
	_ = json.Unmarshal(results[methodSet], &set)
	return set, protocol.ListID(results[claude.MethodList])
}

// file returns the path of the answers for sessions with a set.
func (t *toolServer) file(set toolset.Set) string {
	if set == "" || t.path == "" {
		return t.path
	}
	sum := sha256.Sum256([]byte(set))
	return strings.TrimSuffix(t.path, ".json") + "-" + hex.EncodeToString(sum[:8]) + ".json"
}

// provide returns the path of the answers for a session that is about to start.
func (t *toolServer) provide(set toolset.Set) (path string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.lists[set]; !known && t.path != "" && !t.removed {
		err = t.writeLocked(set)
	}
	return t.file(set), err
}

// writeLocked writes the answers for a set. It does not wait for the disk, for which a hand-over would
// wait too: the runtime directory need not outlive the machine's boot.
func (t *toolServer) writeLocked(set toolset.Set) error {
	results := t.answers.Answers(set)
	if set != "" {
		results = maps.Clone(results)
		results[methodSet], _ = json.Marshal(set) // a text always encodes
	}
	b, err := json.Marshal(results)
	if err != nil {
		return fmt.Errorf("encode the answers of the tool server: %w", err)
	}
	if err := atomicfile.WriteSoon(t.file(set), b, 0o600); err != nil {
		return fmt.Errorf("write the answers of the tool server: %w", err)
	}
	_, t.lists[set] = setAndList(b)
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
	present := s.toolList == "" || slices.Contains(slices.Collect(maps.Values(t.lists)), s.toolList)
	if t.changes != s.toolChanges || !present {
		s.tellToolsChanged()
	}
}

func (t *toolServer) remove(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.sessions, s)
}
