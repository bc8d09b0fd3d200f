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
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// ToolAnswers has the hosts' own answers to MCP requests.
type ToolAnswers interface {
	// Answers returns the answers, by method, for sessions that see the tools through the view with a
	// name; for "", through the gateway's own view.
	Answers(view string) map[string]json.RawMessage
}

// A toolServer is what the sessions of the gateway know of its tools: the hosts' own answers, in
// one file for all hosts whose sessions have the same view of the tools, and the connected sessions,
// which are told of changes.
type toolServer struct {
	path string

	mu       sync.Mutex        // guards the fields below
	answers  ToolAnswers       // nil before ServeTools
	removed  bool              // the files: sessions are gone for good
	lists    map[string]string // protocol.ListID of the present list of tools, by the name of the view; "" is the gateway's own
	changes  int
	sessions map[*session]struct{}
}

// methodView stands among the answers of a file, unless the view is the gateway's own, and names the
// view. No claude asks for the method.
const methodView = "bareclaw/tools"

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
	for view := range before {
		errs = append(errs, t.writeLocked(view))
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
	for view := range t.lists {
		if err := os.Remove(t.file(view)); err != nil && !errors.Is(err, os.ErrNotExist) {
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
func leftLists(path string) map[string]string {
	lists := map[string]string{}
	b, _ := os.ReadFile(path) // none yet: no list
	_, lists[""] = viewAndList(b)
	left, _ := globIn(filepath.Dir(path), strings.TrimSuffix(filepath.Base(path), ".json")+"-*.json") // the pattern is well-formed
	for _, file := range left {
		b, _ := os.ReadFile(file)
		if view, list := viewAndList(b); view != "" {
			lists[view] = list
		}
	}
	return lists
}

// viewAndList returns the view of a file's answers, and the protocol.ListID that hosts compute of
// their list of tools. A damaged file has no view and no list.
func viewAndList(b []byte) (view, list string) {
	var results map[string]json.RawMessage
	_ = json.Unmarshal(b, &results)
	_ = json.Unmarshal(results[methodView], &view)
	return view, protocol.ListID(results[claude.MethodList])
}

// file returns the path of the answers for sessions with a view, whose name may have any characters.
func (t *toolServer) file(view string) string {
	if view == "" || t.path == "" {
		return t.path
	}
	sum := sha256.Sum256([]byte(view))
	return strings.TrimSuffix(t.path, ".json") + "-" + hex.EncodeToString(sum[:8]) + ".json"
}

// provide returns the path of the answers for a session that is about to start.
func (t *toolServer) provide(view string) (path string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.lists[view]; !known && t.path != "" && !t.removed {
		err = t.writeLocked(view)
	}
	return t.file(view), err
}

// writeLocked writes the answers for a view. It does not wait for the disk, for which a hand-over would
// wait too: the runtime directory need not outlive the machine's boot.
func (t *toolServer) writeLocked(view string) error {
	results := t.answers.Answers(view)
	if view != "" {
		results = maps.Clone(results)
		results[methodView], _ = json.Marshal(view) // a text always encodes
	}
	b, err := json.Marshal(results)
	if err != nil {
		return fmt.Errorf("encode the answers of the tool server: %w", err)
	}
	if err := atomicfile.WriteSoon(t.file(view), b, 0o600); err != nil {
		return fmt.Errorf("write the answers of the tool server: %w", err)
	}
	_, t.lists[view] = viewAndList(b)
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
