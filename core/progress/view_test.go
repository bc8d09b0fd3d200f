package progress

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"bareclaw/core"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	begun := func() *story { return new(story).accepted("a").started("t", "a") } // at 0:01
	bash := func(s *story) *story { return s.calls("t", "c", "Bash", "make test\necho done", `{}`) }
	approval := func(tool string) core.Update {
		return core.Update{Kind: core.UpdateApproval, Turn: "t", Approval: &core.Approval{ID: "p", Turn: "t", Tool: tool, State: core.ApprovalPending}}
	}
	one := func(s core.DisplayEvent) *story { return begun().shows("t", s) }
	const parked = "The usage limit is reached. What waits is tried again at 2026-03-01 17:00 UTC."
	for _, tc := range []struct {
		name  string
		story *story
		after time.Duration // since the first update
		want  string
	}{
		{"nothing", new(story), 0, ""},
		{"accepted", new(story).accepted("a"), 7 * time.Second, "Starting · 0:05"},
		{"no seat", new(story).queued("a", 1, "All sessions are busy."), time.Minute, "All sessions are busy. · 1 waiting"},
		{"parked", new(story).queued("a", 1, parked).add(core.Update{Kind: core.UpdateParked, Messages: []core.MessageID{"a"}, Detail: parked}), time.Hour, parked + " · 1 waiting"},
		{"parked with the turn", begun().whole("t", "x", "hm").add(core.Update{Kind: core.UpdateParked, Messages: []core.MessageID{"a"}, Detail: parked}), time.Hour, parked + " · 1 waiting"},
		{"back in the queue", begun().whole("t", "x", "hm").add(core.Update{Kind: core.UpdateQueued, Turn: "t", Message: &core.Message{ID: "a"}, Position: 1}), 3 * time.Second, "Starting · 0:00"},
		{"goes on", new(story).queued("a", 1, parked).started("t", "a"), 3 * time.Second, "Working · 0:00"},
		{"begun", begun(), 35*time.Second + time.Second, "Working · 0:35"},
		{"thinks", one(core.DisplayEvent{Kind: core.DisplayThinking}), 12*time.Minute + 6*time.Second, "Thinking · 12:00"},
		{"tool", bash(begun()), time.Minute + 50*time.Second, "Bash: make test … · 1:45"},
		{"two tools", bash(begun()).calls("t", "d", "mcp__web__get_page", "https://x.org/", `{}`), 2 * time.Second, "web get_page: https://x.org/ (+1) · 0:00"},
		{"after a tool", bash(begun()).ends("t", "c"), 2 * time.Hour, "Working · 1:59:30"},
		{"hidden tool", begun().calls("t", "c", "TodoWrite", "", `{}`), 0, "Working · 0:00"},
		{"writes", begun().streams("t", "x", "a text"), 0, "Writing · 0:00"},
		{"has written", begun().writes("t", "x", "a text"), 0, "Working · 0:00"},
		{"retries", one(core.DisplayEvent{Kind: core.DisplayRetry, Text: "overloaded, attempt 2 of 10"}), 0, "Trying again: overloaded, attempt 2 of 10 · 0:00"},
		{"has retried", one(core.DisplayEvent{Kind: core.DisplayRetry, Text: "overloaded"}).streams("t", "x", "a"), 0, "Writing · 0:00"},
		{"compacts", one(core.DisplayEvent{Kind: core.DisplayCompacting}), 0, "Shortening the conversation · 0:00"},
		{"has compacted", one(core.DisplayEvent{Kind: core.DisplayCompacting}).shows("t", core.DisplayEvent{Kind: core.DisplayCompacted}), 0, "Working · 0:00"},
		{"stalled", bash(begun()).add(core.Update{Kind: core.UpdateStalled, Turn: "t"}), 10*time.Minute + 3*time.Second, "Nothing heard for 10:00 · Bash: make test … · 10:00"},
		{"moves again", bash(begun()).add(core.Update{Kind: core.UpdateStalled, Turn: "t"}).ends("t", "c"), 0, "Working · 0:00"},
		{"asks", bash(begun()).add(approval("Bash")), 0, "Waiting for permission: Bash: make test … · 0:00"},
		{"asks for another", begun().add(approval("Write")), 0, "Waiting for permission: Write · 0:00"},
		{"asks about a plan", begun().add(approval("ExitPlanMode")), 0, "Waiting for your word on the plan · 0:00"},
		{"asks a question", begun().add(approval("AskUserQuestion")), 0, "Waiting for your answer · 0:00"},
		{"has asked", begun().add(approval("Bash")).add(core.Update{Kind: core.UpdateApprovalClosed, Approval: &core.Approval{ID: "p"}}), 0, "Working · 0:00"},
		{"others wait", begun().queued("b", 1, "").queued("c", 2, ""), 0, "Working · 0:00 · 2 waiting"},
		{"more wait than was heard", begun().queued("b", 3, ""), 0, "Working · 0:00 · 3 waiting"},
		{"more wait and it goes on", begun().queued("b", 3, "").shows("t", core.DisplayEvent{Kind: core.DisplayThinking}), 0, "Thinking · 0:00 · 3 waiting"},
		{"one was taken out", begun().queued("b", 1, "").result("", "b", core.Reply{State: core.Cancelled}), 0, "Working · 0:00"},
		{"joined", begun().accepted("b").started("u", "b"), 0, "Working · 0:00"},
		{"sub-agent", begun().calls("t", "c", "Agent", "look around", `{}`), 0, "Agent: look around · 0:00"},
		{"sub-agent works", begun().calls("t", "c", "Agent", "look around", `{}`).shows("t", core.DisplayEvent{Kind: core.DisplayTool, ID: "s", Tool: "Read", Target: "/home/me/project/a/b.go", Parent: "c"}), 0, "Read: a/b.go (+1) · 0:00 · 1 sub-agent"},
		{"works in the background", begun().shows("t", core.DisplayEvent{Kind: core.DisplayTasks, Tasks: 2}).shows("t", core.DisplayEvent{Kind: core.DisplayTool, ID: "s", Tool: "Read", Target: "/x", Parent: "gone"}), 0, "Working · 0:00 · 2 background tasks"},
		{"next", begun().queued("b", 1, "").answered("t", "a", "x"), 11 * time.Second, "Starting · 0:05"},
		{"brief", begun().answered("t", "a", "x"), time.Hour, ""},
		{"done", bash(begun()).ends("t", "c").calls("t", "d", "Read", "f", `{}`).result("t", "a", core.Reply{State: core.Answered, Duration: 72 * time.Second, CostUSD: 0.043}), time.Hour, "Done in 1:12 · 2 tools · $0.043"},
		{"done without tools", begun().result("t", "a", core.Reply{State: core.Answered, Duration: 10 * time.Second, CostUSD: 0.001}), 0, "Done in 0:10 · $0.001"},
		{"stopped", begun().result("t", "a", core.Reply{State: core.Cancelled, Duration: 3 * time.Second}), 0, "Stopped after 0:03"},
		{"failed", bash(begun()).result("t", "a", core.Reply{State: core.Failed, Duration: time.Hour + 65*time.Second}), 0, "Failed after 1:01:05 · 1 tool"},
		{"failed at once", begun().result("t", "a", core.Reply{State: core.Failed, Duration: time.Second}), 0, ""},
		{"result alone", new(story).result("t", "a", core.Reply{State: core.Answered, Duration: time.Minute}), 0, "Done in 1:00"},
		{"hostile", begun().calls("t", "c", "Ba\x1b[31msh\n", "rm \u202e-rf\x00 \t /", `{}`), 0, `Ba\u{001B}[31msh: rm \u{202E}-rf\u{0000} / · 0:00`},
	} {
		f := newFold()
		heard(f, tc.story.updates)
		if got := f.View().Status(epoch.Add(tc.after)); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// A status stays until NextChange says, and is another one then.
func TestNextChange(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]View{
		"starting": {Phase: Starting, Since: epoch},
		"running":  {Phase: Running, Since: epoch},
		"stalled":  {Phase: Running, Since: epoch, Heard: epoch.Add(-7 * time.Second), Stalled: true},
	} {
		edits := 0
		for now := epoch; now.Before(epoch.Add(time.Hour)); edits++ {
			next := v.NextChange(now)
			if !next.After(now) {
				t.Fatalf("%s: the next change after %s is at %s", name, now, next)
			}
			if before := v.Status(next.Add(-time.Nanosecond)); before != v.Status(now) {
				t.Errorf("%s: %q changes to %q before %s", name, v.Status(now), before, next)
			}
			if v.Status(next) == v.Status(now) {
				t.Errorf("%s: %q is the same at %s", name, v.Status(now), next)
			}
			now = next
		}
		if edits < 100 || name != "stalled" && edits > 150 {
			t.Errorf("%s: %d changes in an hour", name, edits)
		}
	}
	for _, phase := range []Phase{Idle, Waiting, Ended} {
		if next := (View{Phase: phase, Since: epoch}).NextChange(epoch); !next.IsZero() {
			t.Errorf("%s changes by itself at %s", phase, next)
		}
	}
	if got := (View{Phase: Running, Since: epoch}).Status(epoch.Add(-time.Hour)); got != "Working · 0:00" {
		t.Errorf("by a clock that was set back: %q", got)
	}
}

func TestTargetText(t *testing.T) {
	t.Parallel()
	deep := "/var/lib/" + strings.Repeat("deeper/", 20) + "file.go"
	for _, tc := range []struct{ tool, target, want string }{
		{"Read", "/home/me/project/core/lane.go", "core/lane.go"},
		{"Read", "/home/me/project/../other/x", "/home/me/project/../other/x"},
		{"Read", "/home/me/projector/x", "/home/me/projector/x"},
		{"Read", "x.go", "x.go"},
		{"Read", deep, "…/deeper/deeper/deeper/file.go"},
		{"Read", "/" + strings.Repeat("x", 200), "…" + strings.Repeat("x", 29)},
		{"Glob", "/home/me/project/core", "core"},
		{"Bash", "/home/me/project/run --now", "/home/me/project/run --now"},
		{"Bash", "echo one two three four five six seven", "echo one two three four five…"},
		{"Bash", "\n\nls\n", "ls"},
		{"Bash", "cat <<E\nx\nE", "cat <<E …"},
		{"Grep", "äöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöü", "äöüäöüäöüäöüäöüäöüäöüäöüäöüäö…"},
		{"WebFetch", "", ""},
	} {
		if got := targetText(tc.tool, tc.target, "/home/me/project", 30); got != tc.want {
			t.Errorf("%s %q: %q, want %q", tc.tool, tc.target, got, tc.want)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	f := newFold()
	s := new(story).started("t", "a")
	for i := range 30 {
		s.calls("t", string(rune('a'+i)), "Read", "f", `{}`)
	}
	s.calls("t", "todo", "TodoWrite", "", `{}`).ends("t", "todo")
	s.calls("t", "bash", "Bash", "false", `{}`).shows("t", core.DisplayEvent{Kind: core.DisplayToolEnd, ID: "bash", IsError: true})
	heard(f, s.updates)
	lines := f.Lines()
	if len(lines) != 20 || f.View().Tools != 31 {
		t.Fatalf("%d lines of %d tools", len(lines), f.View().Tools)
	}
	todo, bash := lines[18], lines[19]
	if !todo.Hidden || !todo.Ended || todo.IsError || todo.String() != "TodoWrite · 0:02" {
		t.Errorf("%+v: %s", todo, todo)
	}
	if bash.Hidden || !bash.IsError || bash.String() != "Bash: false · 0:02 · failed" {
		t.Errorf("%+v: %s", bash, bash)
	}
	if newFold().Lines() != nil {
		t.Error("a turn that never was has lines")
	}
}

func TestPosition(t *testing.T) {
	t.Parallel()
	f := newFold()
	heard(f, new(story).started("t", "a").queued("b", 2, "").queued("c", 3, "").updates)
	if b, c, a := f.Position("b"), f.Position("c"), f.Position("a"); b != 2 || c != 3 || a != 0 {
		t.Errorf("positions %d, %d, %d", b, c, a)
	}
	heard(f, new(story).result("", "b", core.Reply{State: core.Cancelled}).updates)
	if c := f.Position("c"); c != 2 {
		t.Errorf("position %d", c)
	}
}

// A Fold that begins late shows what the core knows of the channel.
func TestAdopt(t *testing.T) {
	t.Parallel()
	f := newFold()
	f.Adopt(core.ChannelStatus{State: core.StateRunning, Turn: "t", Since: epoch.Add(-time.Minute), Waiting: 2})
	if got := f.View().Status(epoch); got != "Working · 1:00 · 2 waiting" {
		t.Errorf("running: %q", got)
	}
	heard(f, new(story).calls("t", "c", "Bash", "ls", `{}`).result("", "b", core.Reply{State: core.Cancelled}).updates)
	if got := f.View().Status(epoch); got != "Bash: ls · 1:00 · 1 waiting" {
		t.Errorf("running on: %q", got)
	}
	heard(f, new(story).result("t", "a", core.Reply{State: core.Answered, Duration: time.Minute}).started("u", "c").updates)
	if v := f.View(); v.Turn != "u" || v.Waiting != 0 {
		t.Errorf("the next: %+v", v)
	}
	late := newFold()
	heard(late, new(story).shows("t", core.DisplayEvent{Kind: core.DisplayThinking}).updates)
	late.Adopt(core.ChannelStatus{State: core.StateRunning, Turn: "t", Since: epoch.Add(-time.Minute)})
	if got := late.View().Status(epoch); got != "Thinking · 1:00" {
		t.Errorf("heard of before: %q", got)
	}
	parked := newFold()
	parked.Adopt(core.ChannelStatus{State: core.StateParked, Since: epoch, Waiting: 1, Why: "No login."})
	if got := parked.View().Status(epoch); got != "No login. · 1 waiting" {
		t.Errorf("parked: %q", got)
	}
	idle := newFold()
	idle.Adopt(core.ChannelStatus{State: core.StateReady})
	if v := idle.View(); v.Phase != Idle || v.Status(epoch) != "" {
		t.Errorf("ready: %+v", v)
	}
}

// Whatever tools are called and say, a status is one short line of plain text.
func FuzzStatus(f *testing.F) {
	f.Add("Bash", "ls\n", "/x")
	f.Add("mcp__a__b", "\x00\u202e/\xff", "")
	f.Add("Read", "/a/b/"+strings.Repeat("ü", 200), "/a")
	f.Fuzz(func(t *testing.T, tool, target, dir string) {
		input := json.RawMessage(`{}`)
		fold := New(Options{Dir: dir, Show: func(json.RawMessage) []core.DisplayEvent {
			return []core.DisplayEvent{{Kind: core.DisplayTool, ID: "c", Tool: tool, Target: target, Input: input}}
		}})
		fold.Take(core.Update{Kind: core.UpdateEvent, Turn: "t", At: epoch})
		for _, l := range fold.Lines() {
			s := l.String()
			if n := utf8.RuneCountInString(s); n > maxLine || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
				t.Fatalf("%q %q is the line %q of %d characters", tool, target, s, n)
			}
		}
		if s := fold.View().Status(epoch); strings.ContainsFunc(s, unicode.IsControl) || s == "" {
			t.Fatalf("%q %q is the status %q", tool, target, s)
		}
	})
}
