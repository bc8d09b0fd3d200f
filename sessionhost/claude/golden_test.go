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
)

var update = flag.Bool("update", false, "rewrite the golden files")

// checkGolden compares got with the golden file beside the recording.
func checkGolden(t *testing.T, recording, got string) {
	t.Helper()
	path := strings.TrimSuffix(recording, filepath.Ext(recording)) + ".golden"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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

// summary is what a recording says to whoever drives claude.
type summary struct {
	sessions, turns []string
	uuids           []string // in the order of their first lifecycle event
	life            map[string][]string
	control         []string
	notes           []string
	deltas          int
	tools           []string
	shown           []string
}

func (s *summary) add(t *testing.T, line []byte) {
	t.Helper()
	e, err := Decode(line)
	if err != nil {
		t.Fatal(err)
	}
	if e.SessionID != "" && !slices.Contains(s.sessions, e.SessionID) {
		s.sessions = append(s.sessions, e.SessionID)
	}
	if e.TextDelta() != "" {
		s.deltas++
	}
	s.show(Show(line))
	switch e.Type {
	case TypeResult:
		r := must(e.Result())(t)
		code, sentence := r.Failure()
		s.turns = append(s.turns, fmt.Sprintf("%s %s error=%v code=%q origin=%q rounds=%d denials=%d text=%.80q says=%.120q uuids=%s",
			r.Subtype, r.TerminalReason, r.IsError, code, r.OriginKind, r.NumTurns, len(r.PermissionDenials), r.Text, sentence, tails(r.UserMessageUUIDs)))
	case TypeLifecycle:
		l := must(e.Lifecycle())(t)
		if s.life[l.UUID] == nil {
			s.uuids = append(s.uuids, l.UUID)
		}
		s.life[l.UUID] = append(s.life[l.UUID], l.State)
	case TypeControlRequest:
		r := must(e.ControlRequest())(t)
		s.control = append(s.control, fmt.Sprintf("ask %s tool=%q display=%q description=%q use=%s person=%v blocked=%q suggestions=%v input=%s server=%q message=%v",
			r.Subtype, r.ToolName, r.DisplayName, r.Description, r.ToolUseID, r.RequiresUserInteraction, r.BlockedPath, r.Suggestions != nil, r.Input, r.ServerName, r.Message != nil))
	case TypeControlResponse:
		r := must(e.ControlResponse())(t)
		s.control = append(s.control, fmt.Sprintf("response %s error=%q", r.RequestID, r.Error))
	case TypeCancelRequest:
		s.control = append(s.control, "cancel "+must(e.CancelRequest())(t))
	default:
		s.note(t, e)
	}
}

func (s *summary) note(t *testing.T, e Event) {
	t.Helper()
	switch {
	case e.Type == TypeAssistant:
		a := must(e.Assistant())(t)
		for _, b := range a.Content {
			if isToolCall(b.Type) {
				s.tools = append(s.tools, fmt.Sprintf("%s %q subagent=%v", b.Name, target(b.Input), a.ParentToolUseID != ""))
			}
		}
		if a.Aborted || a.IsAPIError {
			s.notes = append(s.notes, fmt.Sprintf("assistant aborted=%v api_error=%v %.60q", a.Aborted, a.IsAPIError, a.Content[0].Text))
		}
	case e.Type == TypeUser:
		u := must(e.User())(t)
		s.notes = append(s.notes, fmt.Sprintf("user replay=%v synthetic=%v blocks=%d %s", u.IsReplay, u.IsSynthetic, len(u.Content), u.Content[0].Type))
	case e.Type == TypeConversationReset:
		s.notes = append(s.notes, "reset by "+tail(must(e.ConversationReset())(t)))
	case e.Subtype == "init":
		i := must(e.Init())(t)
		s.notes = append(s.notes, fmt.Sprintf("init %s %s tools=%v servers=%v", i.Model, i.PermissionMode, len(i.Tools) > 0, i.MCPServers))
	case e.Subtype == "api_retry":
		r := must(e.APIRetry())(t)
		s.notes = append(s.notes, fmt.Sprintf("retry %d/%d status=%d %s", r.Attempt, r.MaxRetries, r.ErrorStatus, r.Error))
	}
	if n, ok := e.BackgroundTasks(); ok {
		s.notes = append(s.notes, fmt.Sprintf("background tasks: %d", n))
	}
}

// show notes what the line shows, pieces of one text together.
func (s *summary) show(all []Shown) {
	for _, w := range all {
		what := string(w.Kind)
		switch w.Kind {
		case ShowTextBegin, ShowTextDelta:
			what += fmt.Sprintf(" %s/%d", tail(w.Message), w.Index)
		case ShowText:
			what += fmt.Sprintf(" %s id=%v %.60q", tail(w.Message), w.ID != "", w.Text)
		case ShowTool:
			what += fmt.Sprintf(" %s %s input=%v %.60q", tail(w.ID), w.Tool, w.Input != nil, w.Target)
		case ShowToolEnd:
			what += fmt.Sprintf(" %s error=%v", tail(w.ID), w.IsError)
		case ShowRetry:
			what += fmt.Sprintf(" %q", w.Text)
		case ShowTasks:
			what += fmt.Sprintf(" %d", w.Tasks)
		case ShowThinking, ShowCompacting, ShowCompacted:
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
	section("tool", s.tools)
	section("note", s.notes)
	section("shown", s.shown)
	fmt.Fprintf(&b, "text deltas: %d\n", s.deltas)
	return b.String()
}

// must turns a failed decoding into a failed test.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// tail shortens a uuid to the digits in which the recorded ones differ.
func tail(uuid string) string { return uuid[max(0, len(uuid)-4):] }

func tails(uuids []string) []string {
	short := make([]string, len(uuids))
	for i, u := range uuids {
		short[i] = tail(u)
	}
	return short
}
