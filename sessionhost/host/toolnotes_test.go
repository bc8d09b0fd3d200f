package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
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
		if err := n.observe(&ev); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

func wantNoted(t *testing.T, n *toolNotes, want map[string]bool) {
	t.Helper()
	for id, w := range want {
		if got, err := protocol.ToolNoted(n.path(), id); err != nil || got != w {
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

// TestToolNoteThatIsOwed: what could not be noted is noted when it can be, unless its turn
// is over by then.
func TestToolNoteThatIsOwed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "gone")
	n := &toolNotes{path: func() string { return filepath.Join(dir, "notes") }}
	fails := func() {
		t.Helper()
		if ev, err := claude.Decode([]byte(toolCall)); err != nil || n.observe(&ev) == nil {
			t.Fatalf("it was noted where it cannot be: %v", err)
		}
	}
	const text = `{"type":"assistant","message":{"content":[{"type":"text","text":"x"}]}}`
	mend := func() {
		t.Helper()
		check.OK(t, os.Mkdir(dir, 0o700))
	}
	hearAll(t, n, lifecycle("over", "started"))
	fails()
	hearAll(t, n, lifecycle("over", "completed"))
	mend()
	hearAll(t, n, lifecycle("plain", "started"), text, lifecycle("plain", "completed"))
	wantNoted(t, n, map[string]bool{"over": false, "plain": false})
	check.OK(t, os.RemoveAll(dir))
	hearAll(t, n, lifecycle("owed", "started"))
	fails()
	hearAll(t, n, text)
	mend()
	hearAll(t, n, text, lifecycle("owed", "completed"), lifecycle("after", "started"), text)
	wantNoted(t, n, map[string]bool{"owed": true, "after": false})
}
