package commands

import (
	"fmt"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// mounted are servers as a room has them.
type mounted struct {
	all     []MountedServer
	problem string
}

func (m mounted) MountedServers() ([]MountedServer, string) { return m.all, m.problem }

// TestMounts shows servers and what is wrong with them; words of others are bounded, and mean nothing.
func TestMounts(t *testing.T) {
	t.Parallel()
	shown := func(m mounted) string {
		all, err := NewTable(MountsCommand(m))
		check.OK(t, err)
		return shownOn(t, all, "desk", "/mounts")
	}
	if text := shown(mounted{}); !strings.HasPrefix(text, "No servers of other people are mounted.") {
		t.Errorf("without servers it is %q", text)
	}
	github := MountedServer{
		Name:    "github",
		State:   "running",
		Tools:   26,
		Asks:    12,
		Changed: 1,
		LeftOut: 2,
	}
	odd := MountedServer{
		Name:    "odd",
		State:   "failing",
		Problem: "*no*\n# token\u202e" + strings.Repeat("x", 5000),
	}
	text := shown(mounted{[]MountedServer{github, odd}, "What it said before holds: line 3: it is *not* JSON."})
	for _, want := range []string{
		"2 servers of other people are mounted.",
		"- `github`: running, 26 tools, 12 of them ask before they run, 1 changed, and ask anew, 2 left out\n",
		"- `odd`: failing: \\*no\\* \\# token",
		"What it said before holds\\: line 3\\: it is \\*not\\* JSON",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if len(text) > 1500 || strings.Contains(text, "\u202e") {
		t.Errorf("it has %d bytes: %q", len(text), text)
	}
	var many mounted
	for n := range 100 {
		many.all = append(many.all, MountedServer{Name: fmt.Sprint("s", n), State: "idle"})
	}
	if text := shown(many); strings.Count(text, "\n- ") != mountsShown || !strings.Contains(text, "And 70 more") {
		t.Errorf("of many it shows\n%s", text)
	}
}
