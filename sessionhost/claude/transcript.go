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

// head returns the text the content begins with.
func (e *entry) head() string {
	for _, b := range e.Message.Content {
		if b.Type == "text" {
			return b.Text
		}
	}
	return ""
}
