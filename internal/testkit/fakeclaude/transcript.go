package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// transcript is a session's history on disk, in the structure of the real
// program: one JSON object per line, chained by parentUuid. User prompts have
// the uuid they were sent with; between them and the answer there may be lines
// of other types (attachments) that are links of the chain too.
type transcript struct {
	file    *os.File // nil: none is kept
	held    []byte   // lines that wait for the file to be created
	late    bool     // hold everything until the first turn has ended
	path    string
	session string
	cwd     string
	leaf    string // uuid of the last link
	prompts []json.RawMessage
	past    map[string]bool // prompts of earlier processes
	tail    tail
	greeted bool // the environment attachment has been written
}

// tail is what an earlier process left at the end of the history.
type tail struct {
	open    bool   // a user line without an answer after it
	prompt  string // that line's uuid if it is a prompt: it may be run again
	toolUse string // a tool call without a result
}

// entry is one line. The order of fields is the real program's.
type entry struct {
	ParentUUID  *string         `json:"parentUuid"`
	IsSidechain bool            `json:"isSidechain"`
	PromptID    string          `json:"promptId,omitempty"`
	Attachment  object          `json:"attachment,omitempty"`
	Message     json.RawMessage `json:"message,omitempty"`
	Type        string          `json:"type"`
	UUID        string          `json:"uuid"`
	Timestamp   string          `json:"timestamp"`
	Source      string          `json:"promptSource,omitempty"`
	Merged      []string        `json:"mergedSendUuids,omitempty"`
	Error       string          `json:"error,omitempty"`
	IsAPIError  *bool           `json:"isApiErrorMessage,omitempty"`
	APIStatus   int             `json:"apiErrorStatus,omitempty"`
	IsAborted   bool            `json:"isAbortedMidStream,omitempty"`
	UserType    string          `json:"userType"`
	Entrypoint  string          `json:"entrypoint"`
	CWD         string          `json:"cwd"`
	Session     string          `json:"sessionId"`
	Version     string          `json:"version"`
}

// unknownSession is the id of a session that cannot be resumed.
type unknownSession string

func (id unknownSession) Error() string {
	return "No conversation found with session ID: " + string(id)
}

const syntheticModel = "<synthetic>"

// openTranscript finds or prepares the history of a session below the config
// directory. With resume it must exist, in whatever project; without it must
// not. config "" keeps no history.
func openTranscript(config, cwd, session string, resume, late bool) (*transcript, error) {
	t := &transcript{session: session, cwd: cwd, late: late, past: map[string]bool{}}
	if config == "" {
		return t, nil
	}
	found, err := filepath.Glob(filepath.Join(config, "projects", "*", session+".jsonl"))
	if err != nil {
		return nil, fmt.Errorf("fakeclaude: look for the transcript: %w", err)
	}
	switch {
	case resume && len(found) == 0:
		return nil, unknownSession(session)
	case resume:
		t.path, t.late = found[0], false
		return t, t.load()
	case len(found) > 0:
		return nil, refusal("Error: Session ID " + session + " is already in use.")
	}
	project := regexp.MustCompile(`[^a-zA-Z0-9]`).ReplaceAllString(cwd, "-")
	t.path = filepath.Join(config, "projects", project, session+".jsonl")
	return t, nil
}

// fresh is the history of the session that /clear begins.
func (t *transcript) fresh(session string) *transcript {
	next := &transcript{session: session, cwd: t.cwd, past: map[string]bool{}}
	if t.path != "" {
		next.path = filepath.Join(filepath.Dir(t.path), session+".jsonl")
	}
	return next
}

func (t *transcript) load() error {
	f, err := os.OpenFile(t.path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("fakeclaude: open the transcript: %w", err)
	}
	t.file, t.greeted = f, true
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			t.recall(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("fakeclaude: read the transcript: %w", err)
		}
	}
}

// recall notes what one line of an earlier process says.
func (t *transcript) recall(line []byte) {
	var e entry
	if json.Unmarshal(line, &e) != nil || e.UUID == "" {
		return // a line that a kill cut short, or not a link of the chain
	}
	var m struct {
		Content json.RawMessage `json:"content"`
	}
	if e.Message != nil && json.Unmarshal(e.Message, &m) != nil {
		return
	}
	t.leaf = e.UUID
	switch {
	case e.Type == "user" && e.Source != "":
		t.prompts = append(t.prompts, m.Content)
		t.past[e.UUID] = true
		t.tail = tail{open: true, prompt: e.UUID}
	case e.Type == "user":
		t.tail = tail{open: true}
	case e.Type == "assistant":
		t.tail = tail{}
		var blocks []block
		if json.Unmarshal(m.Content, &blocks) == nil && len(blocks) > 0 && blocks[0].Type == "tool_use" {
			t.tail = tail{open: true, toolUse: blocks[0].ID}
		}
	}
}

// canRun reports whether a prompt with that uuid may run: it never began, or
// its turn was cut before it had produced anything, and nothing came after.
func (t *transcript) canRun(uuid string) bool {
	return !t.past[uuid] || t.tail.prompt == uuid
}

// prompt records that a message is taken up.
func (t *transcript) prompt(uuid string, content json.RawMessage, merged []string) {
	again := uuid != "" && t.tail.prompt == uuid
	t.mend(again)
	if !again {
		t.link(entry{Type: "user", UUID: uuid, PromptID: newID(), Message: encode(chat{"user", content}), Source: "sdk", Merged: merged})
	}
	t.prompts = append(t.prompts, content)
	if !t.greeted {
		t.greeted = true
		t.attach(object{"type": "environment", "snapshot": object{"workingDirectory": t.cwd}})
	}
}

// mend closes what an earlier process left open, as the real program does
// before the first new turn: a lost tool call gets a result, and a user line
// without an answer gets a synthetic one. That one is a dead branch when the
// prompt before it is run again.
func (t *transcript) mend(again bool) {
	left := t.tail
	t.tail = tail{}
	if left.toolUse != "" {
		t.link(entry{Type: "user", UUID: newID(), Message: encode(chat{"user", []block{{Type: "tool_result", ToolUseID: left.toolUse,
			Content: lostTool, IsError: ptr(true)}}})})
	}
	if !left.open {
		return
	}
	before := t.leaf
	t.assistant(apiMessage{Content: []block{{Type: "text", Text: "No response requested."}}, ID: newID(), Model: syntheticModel,
		Role: "assistant", StopReason: ptr("stop_sequence"), Type: "message"}, flaw{})
	if again {
		t.leaf = before
	}
}

const lostTool = "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. " +
	"Check whether it took effect before relying on it or running it again.]"

// assistant records a finished content block of the model.
func (t *transcript) assistant(m apiMessage, f flaw) {
	e := entry{Type: "assistant", UUID: newID(), Message: encode(m), IsAborted: f.aborted, Error: f.kind, APIStatus: f.status}
	if m.Model == syntheticModel {
		e.IsAPIError = ptr(f.kind != "")
	}
	t.link(e)
}

// user records a tool's result or the note of an interruption.
func (t *transcript) user(uuid string, content []block) {
	t.link(entry{Type: "user", UUID: uuid, Message: encode(chat{"user", content})})
}

func (t *transcript) attach(what object) {
	t.link(entry{Type: "attachment", UUID: newID(), Attachment: what})
}

// link appends a line to the chain.
func (t *transcript) link(e entry) {
	if t.leaf != "" {
		e.ParentUUID = ptr(t.leaf)
	}
	t.leaf = e.UUID
	e.Timestamp, e.UserType, e.Entrypoint, e.CWD, e.Session, e.Version = now(), "external", "sdk-cli", t.cwd, t.session, version
	t.append(encode(e), true)
}

// queued records that a message waits ("enqueue") or no longer does.
func (t *transcript) queued(operation, text string) {
	t.append(encode(ordered{"type", "queue-operation", "operation", operation, "timestamp", now(), "sessionId", t.session, "content", text}), false)
}

// turnEnded records the end of a turn and stops holding lines back.
func (t *transcript) turnEnded() {
	held := t.late
	t.late = false
	t.append(encode(ordered{"type", "last-prompt", "leafUuid", t.leaf, "sessionId", t.session}), held)
}

// append writes a line. The file is created by the first one that is a link.
func (t *transcript) append(line []byte, create bool) {
	if t.path == "" {
		return
	}
	t.held = append(t.held, line...)
	if t.late || t.file == nil && !create {
		return
	}
	if err := t.flush(); err != nil {
		fmt.Fprintln(os.Stderr, "fakeclaude: write the transcript:", err)
		os.Exit(exitBroken)
	}
}

func (t *transcript) flush() error {
	if t.file == nil {
		err := os.MkdirAll(filepath.Dir(t.path), 0o700)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if t.file, err = os.OpenFile(t.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return err
		}
	}
	_, err := t.file.Write(t.held)
	t.held = t.held[:0]
	return err
}

func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }
