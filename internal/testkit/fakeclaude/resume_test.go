package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	const other = "22222222-2222-4222-8222-222222222222"
	dir := t.TempDir()
	c := start(t, dir, nil, "--session-id", sid)
	c.ask(1, "hi")
	c.exit()
	for _, row := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"--no-such-flag"}, "error: unknown option '--no-such-flag'"},
		{[]string{"--session-id", sid}, "Error: Session ID " + sid + " is already in use."},
		{[]string{"--session-id", "abc"}, "Error: Invalid session ID. Must be a valid UUID."},
		{[]string{"--resume", other}, "No conversation found with session ID: " + other},
		{[]string{"--resume", sid, "--session-id", other}, "Error: --session-id with --continue or --resume also needs --fork-session."},
		{[]string{"--permission-mode", "nonsense"}, "error: option '--permission-mode <mode>' argument 'nonsense' is invalid"},
		{[]string{"--output-format", "text"}, "Error: --input-format=stream-json requires output-format=stream-json."},
	} {
		c := start(t, dir, nil, row.args...)
		if code := c.wait(); code != 1 {
			t.Errorf("%q: exit code = %d, want 1", row.args, code)
		}
		if got := strings.TrimSpace(c.stderr.String()); got != row.stderr {
			t.Errorf("%q: stderr = %q, want %q", row.args, got, row.stderr)
		}
		if row.args[0] == "--resume" && row.args[1] == other {
			check(t, c.shapes(), []string{"result error_during_execution"})
		}
	}
	if c := start(t, dir, nil, "--version"); c.wait() != 0 {
		t.Errorf("--version failed: %s", c.stderr.String())
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ line, stderr string }{
		{"this is not json", "Error parsing streaming input line (type=unknown, 16 chars): SyntaxError"},
		{`{"type":"user", broken`, "Error parsing streaming input line (type=user, 22 chars): SyntaxError"},
		{`{"type":"user"}`, "Error: Expected message role 'user', got 'undefined'"},
		{`{"type":"user","message":{"role":"assistant","content":"x"}}`, "Error: Expected message role 'user', got 'assistant'"},
	} {
		c := start(t, t.TempDir(), nil)
		c.line(row.line)
		if code := c.wait(); code != 1 {
			t.Errorf("%s: exit code = %d, want 1", row.line, code)
		}
		if got := strings.TrimSpace(c.stderr.String()); got != row.stderr {
			t.Errorf("%s: stderr = %q, want %q", row.line, got, row.stderr)
		}
	}
	c := start(t, t.TempDir(), nil)
	for _, line := range []string{"", "42", `{"type":"no_such_type"}`, `{"type":"keep_alive"}`, `{"type":"control_response","response":{"request_id":"x"}}`, "\r"} {
		c.line(line)
	}
	if got := c.ask(1, "hello"); got != "ok: hello" {
		t.Errorf("after lines to ignore: %q", got)
	}
}

// TestRedelivery sends uuids again after a process has died at various points.
func TestRedelivery(t *testing.T) {
	t.Parallel()
	never := filepath.Join(t.TempDir(), "never")
	ran := []string{"queued 1", "started 1", "system init", "replay 1", "assistant", "result success", "completed 1"}
	dropped := []string{"replay 1", "completed 1"}
	for name, row := range map[string]struct {
		text  string
		until string // the event after which the process is killed
		want  []string
	}{
		"never begun":  {"vanish", "", ran},
		"text cut":     {"wait " + never, "system init", ran},
		"tool running": {"toolwait " + never, "user", dropped},
		"asking":       {"tool 1 ask rm", "control_request", dropped},
		"ended":        {"echo x", "completed 1", dropped},
		"no result":    {"noresult the answer", "completed 1", dropped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := start(t, dir, nil, "--session-id", sid)
			c.ask(0, "first")
			c.send(1, row.text)
			switch row.until {
			case "":
				c.wait()
			case "user":
				c.next("assistant")
				c.kill()
			default:
				c.next(row.until)
				c.kill()
			}
			c = start(t, dir, nil, "--resume", sid)
			c.send(1, "echo second time")
			c.next("completed 1")
			check(t, c.shapes(), row.want)
			if got := c.ask(2, "echo next"); got != "next" {
				t.Errorf("next message = %q", got)
			}
			checkChain(t, dir)
		})
	}
}

func TestKnownUUIDsInOneProcess(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), nil)
	gate := filepath.Join(c.dir, "gate")
	c.send(1, "wait "+gate)
	c.next("system init")
	c.send(2, "echo two")
	c.next("queued 2")
	c.shapes()
	c.send(1, "wait "+gate) // running: given back
	c.send(2, "echo two")   // queued: nothing
	c.control("v", `{"subtype":"get_binary_version"}`)
	c.next("control_response")
	check(t, c.shapes(), []string{"replay 1", "control_response"})
	touch(t, gate)
	c.next("completed 2")
	c.shapes()
	c.send(2, "echo two") // ended: given back
	c.ask(3, "hi")
	check(t, c.shapes()[:2], []string{"replay 2", "queued 3"})
	check(t, journalOf(t, c.dir)[:5], []string{"taken 1", "begun 1", "taken 2", "taken 1", "dropped 1"})
}

func TestLateTranscript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	late := []string{"FAKECLAUDE_TRANSCRIPT=late"}
	c := start(t, dir, late, "--session-id", sid)
	c.send(1, "toolwait "+filepath.Join(dir, "never"))
	c.next("assistant")
	c.kill()
	if c := start(t, dir, late, "--resume", sid); c.wait() != 1 {
		t.Error("a session without a transcript was resumed")
	}
	c = start(t, dir, late, "--session-id", sid)
	if got := c.ask(1, "echo again"); got != "again" {
		t.Errorf("resent message = %q", got)
	}
	c.kill()
	c = start(t, dir, late, "--resume", sid)
	if got := c.ask(2, "history"); got != `["echo again","history"]` {
		t.Errorf("history = %s", got)
	}
	checkChain(t, dir)
}

func TestTranscript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := start(t, dir, nil, "--session-id", sid)
	c.ask(1, "hello")
	c.ask(2, "tool 1 make")
	c.exit()
	entries := checkChain(t, dir)
	var got []string
	for _, e := range entries {
		var m apiMessage
		line := e.Type
		if json.Unmarshal(e.Message, &m) == nil && m.StopReason != nil {
			line += " " + *m.StopReason
		}
		got = append(got, line)
	}
	check(t, got, []string{"user", "attachment", "assistant end_turn", "user", "assistant tool_use", "user", "assistant end_turn"})
	if entries[0].UUID != msgID(1) || entries[3].UUID != msgID(2) {
		t.Errorf("prompts are recorded as %s and %s", entries[0].UUID, entries[3].UUID)
	}
}

// checkChain reads the transcript of sid and checks that every link has a
// parent that came before. It returns the links.
func checkChain(t *testing.T, dir string) (links []entry) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "projects", "*", sid+".jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("transcripts %q, %v; want one", found, err)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for line := range bytes.Lines(data) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("transcript line %q: %v", line, err)
		}
		if e.UUID == "" {
			continue
		}
		if e.ParentUUID == nil && len(known) > 0 || e.ParentUUID != nil && !known[*e.ParentUUID] {
			t.Errorf("no parent: %s", line)
		}
		if known[e.UUID] {
			t.Errorf("twice: %s", line)
		}
		known[e.UUID] = true
		links = append(links, e)
	}
	return links
}
