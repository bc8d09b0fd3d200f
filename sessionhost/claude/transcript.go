package claude

import (
	"bareclaw/core"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
		if e, ok := decodeEntry(line.Bytes); ok {
			h.add(&e)
		}
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
	if e.uuid == "" || e.sidechain {
		return // bookkeeping, or a subagent's own conversation
	}
	if e.beginsTurn() {
		h.last = &turn{by: e.uuid}
		h.turnOf[e.uuid] = h.last
		if e.uuid == h.uuid || e.merged(h.uuid) {
			h.wanted = h.last
		}
		return
	}
	t := h.turn(e.parent)
	if t == nil {
		return
	}
	h.turnOf[e.uuid] = t
	// A message during a tool turn is no entry of its own but an attachment with its uuid.
	if e.kind == "attachment" && e.attachment("source_uuid") == h.uuid {
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

// An entry is one line of a transcript; its byte slices alias the line.
type entry struct {
	kind, subtype string
	uuid          string
	parent        string // the previous entry; across a compaction, the last entry before

	sidechain, meta, summary bool
	apiError, aborted        bool
	apiErrorStatus           int
	apiErrorType             string
	denial                   string // why a tool has no real result
	deniedBeforeRun          bool

	mergedUUIDs []byte // JSON array
	rawContent  []byte // of a system entry, JSON string
	rawAttached []byte // JSON object

	rawMessage []byte // JSON object
	decoded    bool   // message is
	message    message
}

// decodeEntry reads a line, false for anything but an entry.
func decodeEntry(line []byte) (entry, bool) {
	var e entry
	var logicalParent string
	err := eachField(line, func(key, value []byte) {
		if string(key) == "logicalParentUuid" {
			logicalParent = text(value)
			return
		}
		e.member(key, value)
	})
	if e.parent == "" {
		e.parent = logicalParent
	}
	return e, err == nil
}

func (e *entry) member(key, value []byte) {
	switch string(key) {
	case "type":
		e.kind = word(value)
	case "subtype":
		e.subtype = text(value)
	case "uuid":
		e.uuid = text(value)
	case "parentUuid":
		e.parent = text(value)
	case "isSidechain":
		e.sidechain = boolean(value)
	case "isMeta":
		e.meta = boolean(value)
	case "isCompactSummary":
		e.summary = boolean(value)
	case "isApiErrorMessage":
		e.apiError = boolean(value)
	case "isAbortedMidStream":
		e.aborted = boolean(value)
	case "apiErrorStatus":
		e.apiErrorStatus = int(integer(value))
	case "apiErrorType":
		e.apiErrorType = text(value)
	case "toolDenialKind":
		e.denial = text(value)
	case "toolDenialBeforeRun":
		e.deniedBeforeRun = boolean(value)
	case "mergedSendUuids":
		e.mergedUUIDs = value
	case "content":
		e.rawContent = value
	case "attachment":
		e.rawAttached = value
	case "message":
		e.rawMessage = value
	}
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
	if e.kind != TypeUser || e.meta || e.summary {
		return false
	}
	for _, b := range e.content() {
		if b.Type == "tool_result" {
			return false
		}
	}
	head := e.head()
	return !strings.HasPrefix(head, markInterrupt) && !strings.HasPrefix(head, markStdout)
}

// merged reports whether claude joined the message with others. The entry then has the uuid
// of the last message.
func (e *entry) merged(uuid string) bool {
	if e.mergedUUIDs == nil || !bytes.Contains(e.mergedUUIDs, []byte(uuid)) {
		return false
	}
	for _, u := range texts(e.mergedUUIDs) {
		if u == uuid {
			return true
		}
	}
	return false
}

// head returns the text the content begins with.
func (e *entry) head() string {
	for _, b := range e.content() {
		if b.Type == "text" {
			return b.Text
		}
	}
	return ""
}

// content returns the blocks of the entry's message.
func (e *entry) content() []Block {
	if !e.decoded {
		e.decoded = true
		e.message = decodeMessage(e.rawMessage)
	}
	return e.message.blocks
}

func (e *entry) attachment(name string) string { return member(e.rawAttached, name) }
