package sessionhost

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/claude"
)

func lifecycle(uuid, state string) string {
	return fmt.Sprintf(`{"type":"command_lifecycle","command_uuid":%q,"uuid":%q,"state":%q}`, uuid, uuid, state)
}

const toolCall = `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}`

func hearAll(t *testing.T, n *toolNotes, lines ...string) {
	t.Helper()
	for _, line := range lines {
		ev, err := claude.Decode([]byte(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if err := n.hear(ev); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

func wantNoted(t *testing.T, n *toolNotes, want map[string]bool) {
	t.Helper()
	for id, w := range want {
		if got, err := toolNoted(n.path(), id); err != nil || got != w {
			t.Errorf("turn %s: noted %v (%v), want %v", id, got, err, w)
		}
	}
}

func TestToolNotes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes")
	n := &toolNotes{path: func() string { return path }}
	wantNoted(t, n, map[string]bool{"text": false})
	hearAll(t, n,
		toolCall, // of no turn that is known
		lifecycle("text", "started"), `{"type":"assistant","message":{"content":[{"type":"text","text":"tool_use"}]}}`,
		lifecycle("text", "completed"),
		lifecycle("tool", "queued"), lifecycle("tool", "started"), toolCall, toolCall,
		lifecycle("folded", "started"), toolCall,
		lifecycle("folded", "completed"), lifecycle("tool", "completed"),
		lifecycle("after", "started"),
	)
	wantNoted(t, n, map[string]bool{"text": false, "tool": true, "folded": true, "after": false, "too": false})
	b, err := os.ReadFile(path)
	if err != nil || string(b) != "tool\nfolded\n" {
		t.Errorf("the notes are %q (%v)", b, err)
	}
}

// TestToolNotesStaySmall writes more than is kept: what is new is there.
func TestToolNotesStaySmall(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes")
	n := &toolNotes{path: func() string { return path }}
	long := strings.Repeat("x", 1000)
	for i := range 200 {
		id := fmt.Sprint(long, "-", i, "-")
		hearAll(t, n, lifecycle(id, "started"), toolCall, lifecycle(id, "completed"))
	}
	st, err := os.Stat(path)
	if err != nil || st.Size() > maxToolNotes+2000 {
		t.Errorf("the notes have %d bytes (%v), want at most about %d", st.Size(), err, maxToolNotes)
	}
	wantNoted(t, n, map[string]bool{fmt.Sprint(long, "-199-"): true, fmt.Sprint(long, "-180-"): true, fmt.Sprint(long, "-0-"): false})
}
