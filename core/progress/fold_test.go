package progress

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/core"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// show reads the lines of these tests: a list of what they show.
func show(raw json.RawMessage) []core.DisplayEvent {
	var all []core.DisplayEvent
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	for i := range all {
		if string(all[i].Input) == "null" {
			all[i].Input = nil
		}
	}
	return all
}

// story makes updates, one each second.
type story struct{ updates []core.Update }

func (s *story) add(u core.Update) *story {
	u.At = epoch.Add(time.Duration(len(s.updates)) * time.Second)
	s.updates = append(s.updates, u)
	return s
}

func (s *story) accepted(id string) *story {
	return s.add(core.Update{Kind: core.UpdateAccepted, Message: &core.Message{ID: core.MessageID(id)}})
}

func (s *story) queued(id string, position int, why string) *story {
	return s.accepted(id).add(core.Update{Kind: core.UpdateQueued, Message: &core.Message{ID: core.MessageID(id)}, Position: position, Detail: why})
}

func (s *story) started(turn string, ids ...core.MessageID) *story {
	return s.add(core.Update{Kind: core.UpdateStarted, Turn: core.TurnID(turn), Messages: ids})
}

func (s *story) shows(turn string, shown ...core.DisplayEvent) *story {
	raw, err := json.Marshal(shown)
	if err != nil {
		panic(err) // strings and numbers
	}
	return s.add(core.Update{Kind: core.UpdateEvent, Turn: core.TurnID(turn), Raw: raw})
}

// writes streams a text and then says it whole, with the id.
func (s *story) writes(turn, id, text string) *story {
	return s.streams(turn, id, text).whole(turn, id, text)
}

func (s *story) streams(turn, id, text string) *story {
	s.shows(turn, core.DisplayEvent{Kind: core.DisplayTextBegin, Message: "m" + id})
	for _, piece := range strings.SplitAfter(text, " ") {
		s.shows(turn, core.DisplayEvent{Kind: core.DisplayTextDelta, Message: "m" + id, Text: piece})
	}
	return s
}

func (s *story) whole(turn, id, text string) *story {
	return s.shows(turn, core.DisplayEvent{Kind: core.DisplayText, Message: "m" + id, ID: id, Text: text})
}

// calls announces a call, and says it with its input.
func (s *story) calls(turn, id, tool, target, input string) *story {
	s.shows(turn, core.DisplayEvent{Kind: core.DisplayTool, ID: id, Tool: tool})
	return s.shows(turn, core.DisplayEvent{Kind: core.DisplayTool, ID: id, Tool: tool, Target: target, Input: json.RawMessage(input)})
}

func (s *story) ends(turn, id string) *story {
	return s.shows(turn, core.DisplayEvent{Kind: core.DisplayToolEnd, ID: id})
}

func (s *story) answered(turn, id, text string) *story {
	return s.result(turn, id, core.Reply{State: core.Answered, Text: text})
}

func (s *story) result(turn, id string, r core.Reply) *story {
	return s.add(core.Update{Kind: core.UpdateResult, Turn: core.TurnID(turn), Message: &core.Message{ID: core.MessageID(id), Turn: core.TurnID(turn), State: r.State, Reply: r}})
}

// numbered gives the updates ids, as a feed does.
func (s *story) numbered(t *testing.T) []core.Update {
	t.Helper()
	all := slices.Clone(s.updates)
	for i := range all {
		id, err := core.ParseUpdateID(fmt.Sprintf("feed-%d", i+1))
		if err != nil {
			t.Fatal(err)
		}
		all[i].ID = id
	}
	return all
}

func (n *News) add(m News) {
	n.Said, n.Calls, n.Changes = append(n.Said, m.Said...), append(n.Calls, m.Calls...), append(n.Changes, m.Changes...)
}

// heard is all the news that updates bring.
func heard(f *Fold, updates []core.Update) News {
	var all News
	for _, u := range updates {
		n := f.Take(u)
		all.add(n)
		all.Ended = n.Ended
	}
	return all
}

func newFold() *Fold { return New(Options{Show: show, Dir: "/home/me/project"}) }

func saidOf(n News) string {
	var all []string
	for _, s := range n.Said {
		all = append(all, s.ID+"="+s.Text)
	}
	return strings.Join(all, "|")
}

func TestSaid(t *testing.T) {
	t.Parallel()
	begun := func() *story { return new(story).accepted("a").started("t", "a") }
	tool := func(s *story) *story { return s.calls("t", "c", "Bash", "ls", `{}`).ends("t", "c") }
	for _, tc := range []struct {
		name  string
		story *story
		want  string
	}{
		{"only the answer", begun().writes("t", "x", "hello you").answered("t", "a", "hello you"), ""},
		{"before a tool", tool(begun().writes("t", "x", "let me see")).writes("t", "y", "done").answered("t", "a", "done"), "x=let me see"},
		{"two of one message", begun().writes("t", "x", "one").writes("t", "y", "two").answered("t", "a", "two"), "x=one"},
		{"not streamed", tool(begun().whole("t", "x", "let me see")).whole("t", "y", "done").answered("t", "a", "done"), "x=let me see"},
		{"answer around it", begun().writes("t", "x", "two \n").answered("t", "a", "one\n\ntwo"), ""},
		{"answer without it", begun().writes("t", "x", "two").answered("t", "a", "three"), "x=two"},
		{"stopped", begun().writes("t", "x", "so far").result("t", "a", core.Reply{State: core.Cancelled, Text: "Interrupted."}), "x=so far"},
		{"never whole", begun().streams("t", "x", "so far").result("t", "a", core.Reply{State: core.Cancelled, Text: "Interrupted."}), ""},
		{"begun anew", begun().streams("t", "x", "so f").writes("t", "y", "so far").answered("t", "a", "so far"), ""},
		{"repeated whole", begun().streams("t", "x", "so f").whole("t", "y", "so far").answered("t", "a", "so far"), ""},
		{"blank", tool(begun().writes("t", "x", " \n")).answered("t", "a", "done"), ""},
		{"a sub-agent's", tool(begun().shows("t", core.DisplayEvent{Kind: core.DisplayText, ID: "s", Text: "sub", Parent: "p"})).answered("t", "a", ""), ""},
		{"a sub-agent calls", begun().whole("t", "x", "mine").shows("t", core.DisplayEvent{Kind: core.DisplayTool, ID: "c", Tool: "Read", Parent: "p"}).answered("t", "a", "mine"), ""},
		{"thinking after it", begun().whole("t", "x", "mine").shows("t", core.DisplayEvent{Kind: core.DisplayThinking}).answered("t", "a", "mine"), ""},
		{"the agent's own turn", new(story).whole("", "x", "news").calls("", "c", "Bash", "ls", `{}`).whole("", "y", "more"), ""},
		{"others answered first", begun().whole("t", "x", "mine").result("t", "b", core.Reply{State: core.Answered, Coalesced: true, Into: "a"}).answered("t", "a", "mine"), ""},
		{"steered", tool(begun().started("u", "b").whole("t", "x", "one")).whole("t", "y", "both").answered("t", "a", "both").result("u", "b", core.Reply{State: core.Answered, Coalesced: true, Into: "a"}), "x=one"},
		{"the next begins before the end is told", begun().whole("t", "x", "one").whole("u", "y", "two").answered("t", "a", "").answered("u", "b", "two"), "x=one"},
		{"carried elsewhere", begun().whole("t", "x", "one").result("t", "a", core.Reply{State: core.Answered, Coalesced: true, Into: "z"}), ""},
		{"pieces lost", tool(begun().streams("t", "x", "one ").add(core.Update{Kind: core.UpdateDropped, Dropped: 3}).whole("t", "x", "one two")).answered("t", "a", ""), "x=one two"},
	} {
		f := newFold()
		n := heard(f, tc.story.updates)
		if got := saidOf(n); got != tc.want {
			t.Errorf("%s: said %q, want %q", tc.name, got, tc.want)
		}
		for _, s := range n.Said {
			if s.Turn != "t" {
				t.Errorf("%s: %q is said of turn %q", tc.name, s.Text, s.Turn)
			}
		}
		if f.running() {
			t.Errorf("%s: the turn still runs", tc.name)
		}
	}
}

func TestStreamedText(t *testing.T) {
	t.Parallel()
	f := newFold()
	heard(f, new(story).accepted("a").started("t", "a").streams("t", "x", "one two three").updates)
	v := f.View()
	if v.Text != "one two three" || v.Stream != "mx/0" || v.Whole {
		t.Errorf("while it is written: %+v", v)
	}
	heard(f, new(story).whole("t", "x", "one two three.").updates)
	if v = f.View(); v.Text != "one two three." || v.Stream != "mx/0" || !v.Whole {
		t.Errorf("when it is whole: %+v", v)
	}
	n := heard(f, new(story).streams("t", "y", "and").updates)
	if v = f.View(); v.Text != "and" || v.Stream != "my/0" || len(n.Said) != 1 || n.Said[0].Stream != "mx/0" {
		t.Errorf("when the next begins: %+v, news %+v", v, n)
	}
	heard(f, new(story).add(core.Update{Kind: core.UpdateDropped}).shows("t", core.DisplayEvent{Kind: core.DisplayTextDelta, Message: "my", Text: " then"}).updates)
	if v = f.View(); v.Text != "" {
		t.Errorf("a text with a hole is shown: %+v", v)
	}
	late := newFold()
	heard(late, new(story).shows("t", core.DisplayEvent{Kind: core.DisplayTextDelta, Message: "my", Text: "the end"}).updates)
	if v = late.View(); v.Text != "" || v.Phase != Running {
		t.Errorf("a text without its beginning is shown: %+v", v)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		tool, input string
		want        []Change
	}{
		{"Edit", `{"file_path":"/f","old_string":"a","new_string":"b","replace_all":true}`, []Change{{"c", "Edit", "/f", "a", "b"}}},
		{"Write", `{"file_path":"/f","content":"new"}`, []Change{{"c", "Write", "/f", "", "new"}}},
		{"Write", `{"FILE_PATH":"/safe","file_path":"/f","content":"new","Content":"x"}`, []Change{{"c", "Write", "/f", "", "new"}}},
		{"NotebookEdit", `{"notebook_path":"/n","new_source":"1+1","cell_id":"x"}`, []Change{{"c", "NotebookEdit", "/n", "", "1+1"}}},
		{"MultiEdit", `{"file_path":"/f","edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":"d"}]}`,
			[]Change{{"c/0", "MultiEdit", "/f", "a", "b"}, {"c/1", "MultiEdit", "/f", "c", "d"}}},
		{"Bash", `{"command":"ls"}`, nil},
		{"Edit", `{"file_path":7}`, nil},
	} {
		before := new(story).started("t", "a").calls("t", "c", tc.tool, "", tc.input)
		f := newFold()
		if n := heard(f, before.updates); n.Changes != nil {
			t.Errorf("%s: %+v before its end", tc.tool, n.Changes)
		}
		if n := heard(f, new(story).ends("t", "c").updates); !reflect.DeepEqual(n.Changes, tc.want) {
			t.Errorf("%s %s: %+v, want %+v", tc.tool, tc.input, n.Changes, tc.want)
		}
		denied := newFold()
		heard(denied, before.updates)
		if n := heard(denied, new(story).shows("t", core.DisplayEvent{Kind: core.DisplayToolEnd, ID: "c", IsError: true}).updates); n.Changes != nil {
			t.Errorf("%s: %+v although it was denied", tc.tool, n.Changes)
		}
		cut := newFold()
		if n := heard(cut, before.answered("t", "a", "").updates); n.Changes != nil {
			t.Errorf("%s: %+v although its end never came", tc.tool, n.Changes)
		}
	}
}

// long is a story with everything that can be told twice.
func long() *story {
	s := new(story).accepted("a").started("t", "a").writes("t", "x1", "first I look").
		calls("t", "c1", "Read", "/home/me/project/go.mod", `{"file_path":"/home/me/project/go.mod"}`).ends("t", "c1").
		writes("t", "x2", "now I write").calls("t", "c2", "Write", "/f", `{"file_path":"/f","content":"x"}`).ends("t", "c2").
		calls("t", "c3", "Edit", "/f", `{"file_path":"/f","old_string":"x","new_string":"y"}`).shows("t", core.DisplayEvent{Kind: core.DisplayToolEnd, ID: "c3", IsError: true}).
		queued("b", 1, "").writes("t", "x3", "all done").answered("t", "a", "all done")
	s.started("u", "b").writes("u", "y1", "and now").calls("u", "d1", "MultiEdit", "/g", `{"file_path":"/g","edits":[{"old_string":"1","new_string":"2"}]}`).ends("u", "d1").
		writes("u", "y2", "a part").result("u", "b", core.Reply{State: core.Failed, Text: "Over the limit."})
	return s
}

func idsOf(n News) []string {
	var ids []string
	for _, s := range n.Said {
		ids = append(ids, "said "+s.ID)
	}
	for _, c := range n.Changes {
		ids = append(ids, "change "+c.ID)
	}
	return ids
}

// What comes again brings no news: in the same Fold after any update, whether the
// updates are known by their ids or only by what is in them.
func TestReplayToTheSameFold(t *testing.T) {
	t.Parallel()
	want := idsOf(heard(newFold(), long().updates))
	if len(want) != 6 {
		t.Fatalf("the story brings %q", want)
	}
	for name, updates := range map[string][]core.Update{"plain": long().updates, "numbered": long().numbered(t)} {
		for cut := range len(updates) + 1 {
			f := newFold()
			n := heard(f, updates[:cut])
			view := f.View()
			again := heard(f, updates[:cut])
			if again.Said != nil || again.Changes != nil {
				t.Errorf("%s, the first %d again: %q", name, cut, idsOf(again))
			}
			if now := f.View(); cut > 0 && (now.Text != view.Text || now.Phase != view.Phase || now.Turn != view.Turn || now.Tools != view.Tools || now.Waiting != view.Waiting) {
				t.Errorf("%s, the first %d again: %+v, was %+v", name, cut, now, view)
			}
			n.add(heard(f, updates[cut:]))
			if got := idsOf(n); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
				t.Errorf("%s, the first %d again: news are %q, want %q", name, cut, got, want)
			}
		}
	}
}

// A new Fold brings nothing else than the first one did, wherever it begins, and all
// that was to come if it begins where the View says.
func TestReplayToANewFold(t *testing.T) {
	t.Parallel()
	updates := long().numbered(t)
	all := idsOf(heard(newFold(), updates))
	for died := range len(updates) + 1 {
		first := newFold()
		before := idsOf(heard(first, updates[:died]))
		for from := range died + 1 {
			for _, id := range idsOf(heard(newFold(), updates[from:])) {
				if !slices.Contains(all, id) {
					t.Fatalf("from update %d on: news %q, which was none", from, id)
				}
			}
		}
		resume := slices.IndexFunc(updates, func(u core.Update) bool { return u.ID == first.View().After }) + 1
		second := newFold()
		after := heard(second, updates[resume:died])
		got, want := second.View(), first.View()
		if got.After = want.After; !reflect.DeepEqual(got, want) {
			t.Errorf("resumed at %d of %d: %+v, want %+v", resume, died, got, want)
		}
		after.add(heard(second, updates[died:]))
		for _, id := range all {
			if !slices.Contains(before, id) && !slices.Contains(idsOf(after), id) {
				t.Errorf("resumed at %d of %d: %q is lost", resume, died, id)
			}
		}
	}
}
