package claude

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// checkGolden compares got with the golden file beside the recording.
func checkGolden(t *testing.T, recording, got string) {
	t.Helper()
	path := strings.TrimSuffix(recording, filepath.Ext(recording)) + ".golden"
	if *update {
		check.OK(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	check.OK(t, err)
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

func recordings(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings %s: %v", pattern, err)
	}
	return files
}

// recorded is one line of a recording: what was written to claude (in), what
// it printed (out, err), how it ended (exit).
type recorded struct {
	Dir  string          `json:"dir"`
	Line json.RawMessage `json:"line"`
}

func readRecording(t testing.TB, path string) []recorded {
	t.Helper()
	b, err := os.ReadFile(path)
	check.OK(t, err)
	var all []recorded
	for line := range bytes.Lines(b) {
		var r recorded
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, r)
	}
	return all
}

func TestRecordedStreams(t *testing.T) {
	t.Parallel()
	for _, path := range recordings(t, "testdata/stream/*.ndjson") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			s := summary{life: map[string][]string{}}
			for _, r := range readRecording(t, path) {
				if r.Dir == "out" {
					s.add(t, r.Line)
				}
			}
			checkGolden(t, path, s.String())
		})
	}
}

// summary is what a recording says to the driver of claude.
type summary struct {
	sessions, turns []string
	uuids           []string // in the order of their first lifecycle event
	life            map[string][]string
	control         []string
	notes           []string
	shown           []string
}

func (s *summary) add(t *testing.T, line []byte) {
	t.Helper()
	e, err := Decode(line)
	check.OK(t, err)
	if id := e.SessionID(); id != "" && !slices.Contains(s.sessions, id) {
		s.sessions = append(s.sessions, id)
	}
	s.show(Show(line))
	for _, id := range e.ToolsEnded() {
		s.notes = append(s.notes, "tool ended "+tail(id))
	}
	ev := e.Translate()
	switch ev.Kind {
	case core.Resulted:
		r := ev.Result
		s.turns = append(s.turns, fmt.Sprintf("error=%v code=%q background=%v interrupted=%v rounds=%d text=%.80q says=%.120q uuids=%s",
			r.IsError, r.Code, r.Background, r.Interrupted, r.NumTurns, r.Text, r.Error, tails(r.Turns)))
	case core.TurnState:
		u := string(ev.Turn)
		if s.life[u] == nil {
			s.uuids = append(s.uuids, u)
		}
		s.life[u] = append(s.life[u], string(ev.Phase))
	case core.Requested:
		s.control = append(s.control, fmt.Sprintf("ask tool=%q suggestions=%v input=%s", ev.Request.Tool, ev.Request.Suggestion != nil, ev.Request.Input))
	case core.RequestGone:
		s.control = append(s.control, "cancel "+ev.Request.ID)
	case core.ToolBegun:
		s.notes = append(s.notes, fmt.Sprintf("tool begun %s %q timeout=%s", ev.Tool, ev.Target, ev.Timeout))
	case core.Retrying:
		s.notes = append(s.notes, "retry "+ev.Detail)
	case core.TasksChanged:
		s.notes = append(s.notes, fmt.Sprintf("background tasks: %d", len(ev.Tasks)))
	default:
		s.other(&e, ev)
	}
}

// other notes what a lane does not act on.
func (s *summary) other(e *Event, ev core.Event) {
	if _, subtype, ok := e.ControlRequest(); ok {
		s.control = append(s.control, "ask "+subtype)
	}
	if id, refused := e.ControlResponse(); id != "" {
		s.control = append(s.control, fmt.Sprintf("response %s error=%q", id, refused))
	}
	if ev.Model != "" {
		s.notes = append(s.notes, "init "+ev.Model)
	}
}

// show notes what the line shows, pieces of one text together.
func (s *summary) show(all []core.DisplayEvent) {
	for _, w := range all {
		what := string(w.Kind)
		switch w.Kind {
		case core.DisplayTextBegin, core.DisplayTextDelta:
			what += fmt.Sprintf(" %s/%d", tail(w.Message), w.Index)
		case core.DisplayText:
			what += fmt.Sprintf(" %s id=%v %.60q", tail(w.Message), w.ID != "", w.Text)
		case core.DisplayTool:
			what += fmt.Sprintf(" %s %s input=%v %.60q", tail(w.ID), w.Tool, w.Input != nil, w.Target)
		case core.DisplayToolEnd:
			what += fmt.Sprintf(" %s error=%v", tail(w.ID), w.IsError)
		case core.DisplayRetry:
			what += fmt.Sprintf(" %q", w.Text)
		case core.DisplayTasks:
			what += fmt.Sprintf(" %d", w.Tasks)
		case core.DisplayThinking, core.DisplayCompacting, core.DisplayCompacted:
		}
		if w.Parent != "" {
			what += " by " + tail(w.Parent)
		}
		if len(s.shown) == 0 || s.shown[len(s.shown)-1] != what {
			s.shown = append(s.shown, what)
		}
	}
}

func (s *summary) String() string {
	var b strings.Builder
	section := func(name string, lines []string) {
		for _, l := range lines {
			fmt.Fprintf(&b, "%s: %s\n", name, l)
		}
	}
	section("session", s.sessions)
	section("turn", s.turns)
	for _, u := range s.uuids {
		fmt.Fprintf(&b, "lifecycle %s: %s\n", tail(u), strings.Join(s.life[u], " "))
	}
	section("control", s.control)
	section("note", s.notes)
	section("shown", s.shown)
	return b.String()
}

// tail shortens a uuid to the digits in which the recorded ones differ.
func tail(uuid string) string { return uuid[max(0, len(uuid)-4):] }

func tails(uuids []core.TurnID) []string {
	short := make([]string, len(uuids))
	for i, u := range uuids {
		short[i] = tail(string(u))
	}
	return short
}
