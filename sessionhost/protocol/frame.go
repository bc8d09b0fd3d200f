// Package protocol holds what the two ends of a session host share: frames, the
// entries of the event log, the bootstrap, records, locks and file names. The
// daemon's end is package sessionhost, the detached process is package host.
// PROTOCOL.md beside this file describes the protocol in prose.
package protocol

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"syscall"
	"time"

	jsonv1 "github.com/go-json-experiment/json/v1"

	"bareclaw/sessionhost/claude"
)

// Version is raised when a frame changes its meaning. A host and a daemon of different
// versions refuse each other.
const Version = 1

// MaxFrameBytes bounds one frame: a message of the largest configurable body plus its
// envelope.
const MaxFrameBytes = 256 << 20

// RetryInterval is how soon a host repeats a failed write of its record or its spool file.
const RetryInterval = 500 * time.Millisecond

// Frame types sent by the daemon.
const (
	FrameHello  = "hello"  // Version, Generation, Host, IdleTimeout: the first frame
	FrameTurn   = "turn"   // ID, line: hand a turn to claude
	FrameWrite  = "write"  // line: pass any other line to claude
	FrameAnswer = "answer" // ID (of the request), line: answer a control request, once; of a permission or a call
	FrameAck    = "ack"    // Seq: events up to it need no replay
	FrameStop   = "stop"   // Gently or Patient: end claude and the host
	FrameBind   = "bind"   // line: the new place of a spare
)

// Frame types sent by the host apart from events.
const (
	FrameWelcome = "welcome" // the host's state, the first frame
	FrameRefused = "refused" // Error; the connection is closed
)

// A Frame is the header of a message from the daemon. The payload, if any, is the last
// field, "line", and is passed on byte for byte.
type Frame struct {
	Type       string `json:"type"`
	Version    int    `json:"version,omitempty"`
	Generation int64  `json:"generation,omitempty"`
	Host       int    `json:"host,omitempty"` // the pid of the intended host, 0 if unknown
	ID         string `json:"id,omitempty"`
	Seq        uint64 `json:"seq,omitempty"`
	Gently     bool   `json:"gently,omitempty"`
	Patient    bool   `json:"patient,omitempty"`
	// IdleTimeout is how long an idle claude is kept without a daemon: 0 means no change, a
	// negative value for ever.
	IdleTimeout time.Duration `json:"idle_timeout,omitempty"`
	Tools       bool          `json:"tools,omitempty"` // in a hello: the daemon carries out calls of tools
}

// A Welcome is the host's answer to a hello.
type Welcome struct {
	Type      string            `json:"type"`
	Version   int               `json:"version"`
	Channel   string            `json:"channel"`
	SessionID string            `json:"session_id"`
	PID       int               `json:"pid"`
	ClaudePID int               `json:"claude_pid"`
	Ready     bool              `json:"ready"`
	Launch    string            `json:"launch,omitempty"`     // from the bootstrap
	Settings  string            `json:"settings,omitempty"`   // likewise
	Tasks     int               `json:"tasks,omitempty"`      // live background tasks
	TaskNames []string          `json:"task_names,omitempty"` // their descriptions; older hosts do not say
	Turns     []string          `json:"turns,omitempty"`
	Working   []string          `json:"working,omitempty"` // turns begun and unfinished before the first entry that follows
	Requests  []json.RawMessage `json:"requests,omitempty"`
	// RequestedAt are the times of Requests, in microseconds since 1970; older hosts do not say.
	RequestedAt []int64 `json:"requested_at,omitempty"`
	Seq         uint64  `json:"seq,omitempty"`       // of the last event so far: up to here only Requests wait for an answer
	Tools       bool    `json:"tools,omitempty"`     // claude has the gateway's tools
	ToolList    string  `json:"tool_list,omitempty"` // ListID of the list that claude was last given
	Kept        bool    `json:"kept,omitempty"`      // entries up to Seq follow; older hosts do not say
	Claude      string  `json:"claude,omitempty"`    // claude's version, once ready; older hosts do not say
	Error       string  `json:"error,omitempty"`     // with FrameRefused
}

// An Entry is one entry of the host's event log, or a notice about the log. Exactly one
// field beside Seq and At is set.
type Entry struct {
	Seq          uint64          `json:"seq"`
	At           int64           `json:"at,omitempty"`     // when the host read the event, in microseconds since 1970; 0 from older hosts
	Event        json.RawMessage `json:"event,omitempty"`  // a line of claude's stdout
	Bad          string          `json:"bad,omitempty"`    // the beginning of a line without a JSON object
	Ready        bool            `json:"ready,omitempty"`  // claude answered initialize
	Claude       string          `json:"claude,omitempty"` // with Ready: claude's version; older hosts do not say
	Exit         *claude.Exit    `json:"exit,omitempty"`   // claude has ended; the last entry
	Bound        string          `json:"bound,omitempty"`  // the new channel of a spare
	Backpressure *Backpressure   `json:"full,omitempty"`   // a notice: the daemon is to acknowledge all entries up to Seq, the last one
}

// Backpressure says that the log has no room for claude's next event, and that claude's
// output is not read until an acknowledgement or a successful write.
type Backpressure struct {
	Problem string `json:"problem,omitempty"` // for a person: the problem and its remedy; empty at the size limit
}

var lineField = []byte(`,"line":`)

// maxHeaderBytes bounds the header before a payload.
const maxHeaderBytes = 512

// EncodeFrame returns the frame as one line. A non-nil payload must be one line of JSON
// without its newline.
func EncodeFrame(f Frame, payload []byte) ([]byte, error) {
	header, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode %s frame: %w", f.Type, err)
	}
	if payload == nil {
		return append(header, '\n'), nil
	}
	if len(header) > maxHeaderBytes {
		return nil, fmt.Errorf("encode %s frame: header of %d bytes is too long", f.Type, len(header))
	}
	b := make([]byte, 0, len(header)+len(lineField)+len(payload)+1)
	b = append(b, header[:len(header)-1]...)
	b = append(b, lineField...)
	b = append(b, payload...)
	return append(b, '}', '\n'), nil
}

// DecodeFrame splits a frame into header and payload. The payload aliases b.
func DecodeFrame(b []byte) (f Frame, payload []byte, err error) {
	header := b
	if i := bytes.Index(b[:min(len(b), maxHeaderBytes)], lineField); i >= 0 && b[len(b)-1] == '}' {
		payload = b[i+len(lineField) : len(b)-1]
		header = append(append(make([]byte, 0, i+1), b[:i]...), '}')
	}
	if err := jsonv1.Unmarshal(header, &f); err != nil {
		return Frame{}, nil, fmt.Errorf("decode frame: %w", err)
	}
	return f, payload, nil
}

const (
	seqField   = `{"seq":`
	atField    = `,"at":`
	eventField = `,"event":`
)

// AppendEvent appends the log entry for a line of claude, newline included.
func AppendEvent(b []byte, seq uint64, at time.Time, event []byte) []byte {
	b = strconv.AppendUint(append(b, seqField...), seq, 10)
	b = strconv.AppendInt(append(b, atField...), at.UnixMicro(), 10)
	b = append(append(b, eventField...), event...)
	return append(b, '}', '\n')
}

// EncodeEntry returns a log entry of the host itself, newline included.
func EncodeEntry(s Entry) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic("sessionhost: a plain struct does not encode: " + err.Error())
	}
	return append(b, '\n')
}

// DecodeEntry parses a log entry. The event aliases b.
func DecodeEntry(b []byte) (Entry, error) {
	if rest, ok := bytes.CutPrefix(b, []byte(seqField)); ok && b[len(b)-1] == '}' {
		if digits, _, ok := bytes.Cut(rest[:min(len(rest), 64)], []byte(eventField)); ok {
			number, micros, _ := bytes.Cut(digits, []byte(atField)) // older hosts do not say when
			seq, err := strconv.ParseUint(string(number), 10, 64)
			at, _ := strconv.ParseInt(string(micros), 10, 64)
			if err == nil {
				return Entry{Seq: seq, At: at, Event: rest[len(digits)+len(eventField) : len(rest)-1]}, nil
			}
		}
	}
	var s Entry
	if err := jsonv1.Unmarshal(b, &s); err != nil {
		return Entry{}, fmt.Errorf("decode event: %w", err)
	}
	return s, nil
}

// Subcommand is the argument that makes the binary a session host.
const Subcommand = "session-host"

// The file descriptors that a host inherits from the daemon.
const (
	FDBootstrap = 3 // a pipe: one bootstrap, then end of file
	FDListener  = 4 // the listening Unix socket
	FDLock      = 5 // the locked session lock
)

// A Bootstrap holds the parameters of a new host. The environment of the host is claude's,
// and contains nothing secret.
type Bootstrap struct {
	Version int `json:"version"`
	// Launch and Settings are given back in the welcome.
	Launch   string `json:"launch,omitempty"`
	Settings string `json:"settings,omitempty"`
	Place
	SessionID    string        `json:"session_id"`
	StateDir     string        `json:"state_dir,omitempty"` // of the gateway, with the mark of a gateway that a person has stopped
	Argv         []string      `json:"argv"`                // claude's command line, program first
	Dir          string        `json:"dir"`
	StartTimeout time.Duration `json:"start_timeout"`          // for claude to answer initialize
	IdleTimeout  time.Duration `json:"idle_timeout,omitempty"` // how long an idle claude is kept before the first hello; 0: for ever
	MemLimit     int64         `json:"mem_limit"`              // bytes of events kept in memory
	SpoolLimit   int64         `json:"spool_limit"`            // bytes of events kept in all
	// ToolServer is the path of the file with the host's own answers to claude's MCP requests,
	// by method: an object of results. Without a path claude gets no tools of the gateway.
	ToolServer string `json:"tool_server,omitempty"`
}

// ListID identifies a list of tools.
func ListID(list []byte) string {
	sum := sha256.Sum256(list)
	return hex.EncodeToString(sum[:8])
}

// IsDisconnect reports whether the error means that the other end is gone.
func IsDisconnect(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNREFUSED)
}
