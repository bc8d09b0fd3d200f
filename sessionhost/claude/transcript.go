package claude

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bareclaw/core"
)

// FindTranscript returns the transcript of a session, <configDir>/projects/<working
// directory, flattened>/<session>.jsonl. It searches every project, since a session may be
// resumed from elsewhere, and takes the newest file. The error is fs.ErrNotExist before the
// session's first turn.
func FindTranscript(configDir, sessionID string) (string, error) {
	if !isUUID(sessionID) {
		return "", fmt.Errorf("find transcript: %q is not a session id", sessionID)
	}
	projects := filepath.Join(configDir, "projects")
	dirs, err := os.ReadDir(projects)
	if err != nil {
		return "", fmt.Errorf("find transcript of %s: %w", sessionID, err)
	}
	found, newest := "", int64(0)
	for _, d := range dirs {
		path := filepath.Join(projects, d.Name(), sessionID+".jsonl")
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if t := info.ModTime().UnixNano(); found == "" || t > newest {
			found, newest = path, t
		}
	}
	if found == "" {
		return "", fmt.Errorf("find transcript of %s in %s: %w", sessionID, projects, fs.ErrNotExist)
	}
	return found, nil
}

// ReadFate reads the fate of a turn from a transcript: the turn that the message with this
// uuid began, or was merged or folded into. The file may be of any size, end in half a line
// and hold lines of unknown kinds. No claude may be writing.
func ReadFate(path string, turn core.TurnID) (core.Fate, error) {
	f, err := os.Open(path)
	if err != nil {
		return core.Fate{}, fmt.Errorf("read fate of %s: %w", turn, err)
	}
	defer f.Close()
	fate, err := readFate(f, string(turn))
	if err != nil {
		return core.Fate{}, fmt.Errorf("read fate of %s in %s: %w", turn, path, err)
	}
	return fate, nil
}

// readFate passes over the transcript once. An entry belongs to the turn of its parent,
// which stands before the entry. No link is ever followed, so loops and broken links do no
// harm.
func readFate(src io.Reader, uuid string) (core.Fate, error) {
	h := history{uuid: uuid, turnOf: make(map[string]*turn)}
	lines := NewReader(src, 0)
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return core.Fate{}, err
		}
		var e entry
		decode(line.Bytes, &e)
		h.add(&e)
	}
	if h.wanted == nil {
		return core.Fate{}, nil
	}
	f := h.wanted.fate()
	if h.wanted.by != uuid {
		f.Into = core.TurnID(h.wanted.by)
	}
	return f, nil
}

// history sorts the entries of a transcript into turns.
type history struct {
	uuid   string           // of the message asked for
	wanted *turn            // the turn of the message, nil so far
	last   *turn            // the turn begun last
	turnOf map[string]*turn // by the uuid of an entry
}

func (h *history) add(e *entry) {
	if e.UUID == "" || e.Sidechain {
		return // bookkeeping, or a subagent's own conversation
	}
	if e.beginsTurn() {
		h.last = &turn{by: e.UUID}
		h.turnOf[e.UUID] = h.last
		if e.UUID == h.uuid || slices.Contains(e.Merged, h.uuid) {
			h.wanted = h.last
		}
		return
	}
	t := h.turn(cmp.Or(e.Parent, e.LogicalParent))
	if t == nil {
		return
	}
	h.turnOf[e.UUID] = t
	// A message during a tool turn is no entry of its own but an attachment with its uuid.
	if e.Type == "attachment" && e.Attachment.SourceUUID == h.uuid {
		h.wanted = t
	}
	t.add(e)
}

// turn returns the turn of a parent. An unreadable parent (a damaged or overlong line) was
// most likely in the latest turn.
func (h *history) turn(parent string) *turn {
	if t, ok := h.turnOf[parent]; ok {
		return t
	}
	if parent == "" {
		return nil
	}
	return h.last
}

// An entry is one line of a transcript.
type entry struct {
	Type            string          `json:"type"`
	Subtype         string          `json:"subtype"`
	UUID            string          `json:"uuid"`
	Parent          string          `json:"parentUuid"`        // the previous entry; none after a compaction
	LogicalParent   string          `json:"logicalParentUuid"` // across a compaction, the last entry before
	Sidechain       bool            `json:"isSidechain"`
	Meta            bool            `json:"isMeta"`
	Summary         bool            `json:"isCompactSummary"`
	APIError        bool            `json:"isApiErrorMessage"`
	APIErrorStatus  count           `json:"apiErrorStatus"`
	APIErrorType    string          `json:"apiErrorType"`
	Aborted         bool            `json:"isAbortedMidStream"`
	Denial          string          `json:"toolDenialKind"` // why a tool has no real result
	DeniedBeforeRun bool            `json:"toolDenialBeforeRun"`
	Merged          []string        `json:"mergedSendUuids"` // messages that were joined; the entry has the uuid of the last one
	Printed         json.RawMessage `json:"content"`         // of a system entry, a string
	Attachment      struct {
		Type       string `json:"type"`
		SourceUUID string `json:"source_uuid"`
	} `json:"attachment"`
	Message message `json:"message"`
}

// The marks claude leaves in texts.
const (
	markInterrupt = "[Request interrupted by user" // ends an interrupted turn
	markStdout    = "<local-command-stdout>"       // the output of a slash command
	markCaveat    = "<local-command-caveat>"       // stands before every slash command
)

// beginsTurn reports whether the entry is a message that starts a turn: from a person, or
// from a finished background task. Other entries of type user carry tool results, claude's
// words to itself, or one of its marks.
func (e *entry) beginsTurn() bool {
	if e.Type != TypeUser || e.Meta || e.Summary {
		return false
	}
	if slices.ContainsFunc(e.Message.Content, func(b block) bool { return b.Type == "tool_result" }) {
		return false
	}
	head := e.head()
	return !strings.HasPrefix(head, markInterrupt) && !strings.HasPrefix(head, markStdout)
}

func (e *entry) head() string {
	for _, b := range e.Message.Content {
		if b.Type == "text" {
			return b.Text
		}
	}
	return ""
}

// turn collects the fate of a turn from its transcript entries. Later entries overrule
// earlier ones: an answer follows a repeated error.
type turn struct {
	by          string // the uuid of the first message
	interrupted bool
	end         core.Fate // Answered, Failed, Code and Text, as the turn stands after an entry
	blocked     core.Fate // end when a hook blocked the end of the turn for the first time
	calls       []call
}

// A call is one tool call that the turn began.
type call struct {
	id, name string // the name is Bash, Edit, mcp__server__tool, …
	target   string // what the call worked on
	refused  bool   // it never ran
	finished bool   // the result is known; else the call may have run in part or in full
	failed   bool   // the result is an error
}

// String describes the call for a person.
func (c call) String() string {
	s := c.name
	if c.target != "" {
		s += " (" + c.target + ")"
	}
	switch {
	case !c.finished:
		s += ", not finished"
	case c.failed:
		s += ", failed"
	}
	return s
}

func (t *turn) add(e *entry) {
	switch e.Type {
	case TypeAssistant:
		t.addAssistant(e)
	case TypeUser:
		t.addUser(e)
	case TypeSystem:
		switch printed := text(e.Printed); {
		case e.Subtype == "local_command":
			t.printed(printed)
		case e.Subtype == "informational" && strings.HasPrefix(printed, markBlockedForGood) && t.blocked.Answered:
			t.end = t.blocked
		}
	case "attachment":
		if e.Attachment.Type == "max_turns_reached" {
			t.failed(rawResult{IsError: true, Subtype: "error_max_turns"})
		}
	}
}

func (t *turn) addAssistant(e *entry) {
	switch {
	case e.APIError:
		t.failed(rawResult{
			IsError:        true,
			TerminalReason: "api_error",
			Text:           e.head(),
			APIErrorStatus: e.APIErrorStatus,
			APIErrorType:   e.APIErrorType,
		})
		return
	case e.Message.Model == "<synthetic>":
		return // "No response requested.", put in when an unfinished turn is resumed
	case e.Aborted:
		t.interrupted = true
		return
	}
	for _, b := range e.Message.Content {
		switch {
		case isToolCall(b.Type):
			t.end = core.Fate{}
			if !slices.ContainsFunc(t.calls, func(c call) bool { return c.id == b.ID }) {
				t.calls = append(t.calls, call{id: b.ID, name: b.Name, target: ToolTarget(b.Input)})
			}
		case b.Type == "text" && (e.Message.StopReason == "end_turn" || e.Message.StopReason == "stop_sequence"):
			t.end = core.Fate{Answered: true, Text: b.Text}
		case b.Type == "text":
			t.end = core.Fate{} // words before a tool call, or cut by max_tokens and continued
		}
	}
}

func (t *turn) addUser(e *entry) {
	for _, b := range e.Message.Content {
		if b.Type == "tool_result" {
			t.returned(&b, e)
		}
	}
	switch head := e.head(); {
	case strings.HasPrefix(head, markInterrupt):
		t.interrupted = true
		t.end = core.Fate{}
	case strings.HasPrefix(head, markStdout):
		t.printed(head)
	case e.Meta && head != "" && !strings.HasPrefix(head, markCaveat):
		if !t.blocked.Answered && strings.HasPrefix(head, markBlocked) {
			t.blocked = t.end
		}
		t.end = core.Fate{} // claude's own request to go on; the caveat belongs to the next command
	}
}

// returned notes the result of a call. A call stopped while it ran (by an interrupt, or a
// resumed session) stays unfinished; a call refused before it ran does not count.
func (t *turn) returned(b *block, e *entry) {
	for i := range t.calls {
		c := &t.calls[i]
		if c.id != b.ToolUseID {
			continue
		}
		switch {
		case e.Denial == "":
			c.finished, c.failed = true, b.IsError
		case e.DeniedBeforeRun, e.Denial != "interrupted" && e.Denial != "user-rejected":
			c.refused = true
		}
	}
}

func (t *turn) printed(s string) {
	s = strings.TrimPrefix(s, markStdout)
	s, _, _ = strings.Cut(s, "</local-command-stdout>")
	t.end = core.Fate{Answered: true, Text: strings.TrimSpace(s)}
}

func (t *turn) failed(r rawResult) {
	code, sentence := r.failure()
	t.end = core.Fate{Failed: true, Code: code, Text: sentence}
}

func (t *turn) fate() core.Fate {
	f := t.end
	f.Begun, f.ToolBegun, f.Done = true, len(t.calls) > 0, t.done()
	f.Interrupted = t.interrupted && !f.Answered
	return f
}

// done describes the calls for a person, the last ones if they are many.
func (t *turn) done() string {
	const most = 5
	var parts []string
	for _, c := range t.calls {
		if !c.refused {
			parts = append(parts, c.String())
		}
	}
	if over := len(parts) - most; over > 0 {
		parts = append([]string{fmt.Sprintf("%d other tool calls", over)}, parts[over:]...)
	}
	return strings.Join(parts, "; ")
}
