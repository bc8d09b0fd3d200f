// Package api defines what the daemon and the tool host say to each other: JSON over HTTP on
// three connections, which the tool host inherits. The tool host serves the Path constants on two
// of them, and calls the functions that scripts may use on the third, which the daemon serves.
package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/plainjson"
)

// Subcommand is the hidden role of the program that runs tools.
const Subcommand = "tool-host"

// The sources of the tool host's tools.
const (
	Builtin = "builtin" // the program
	Dynamic = "dynamic" // a file of the tools directory
)

// A Bootstrap tells the tool host its parameters, as one line of its standard input. The input
// then stays open: its end means that the daemon has ended.
type Bootstrap struct {
	ToolsDir string    `json:"tools_dir"`
	GoodDir  string    `json:"good_dir"` // see GoodDir
	Reserved []string  `json:"reserved"` // names that no file may use
	Skipped  []Skipped `json:"skipped"`  // end whoever loads or runs them
}

// A Skipped is a file that is not loaded, and why, as a clause.
type Skipped struct {
	File File   `json:"file"`
	Why  string `json:"why"`
}

// GoodDir returns the directory that has, of each file of a tools directory, the last version whose tool
// could be loaded: it serves while the file is broken.
func GoodDir(tools string) string {
	return filepath.Join(filepath.Dir(tools), "."+filepath.Base(tools)+".good")
}

// A File is a file of the tools directory with certain contents.
type File struct {
	Name string `json:"name"`
	Sum  string `json:"sum"` // of the contents: SHA-256 in hexadecimal digits
}

// MaxSource is the size of the largest file that is loaded, in bytes.
const MaxSource = 1 << 20

// MessageLoading is the message of a log record that has the File that the tool host begins to load
// as the attribute "file"; empty when the file is loaded. The daemon keeps such records.
const MessageLoading = "loading"

// MessageStuck is the message of a log record that has the tool whose code cannot be interrupted as the
// attribute "tool", and its File as "file"; empty for code that has no file. Then the tool host ends.
const MessageStuck = "a script does not stop: the tool host ends"

// MessageCannotRun is the message of a log record that says as the attribute "err" why the tool host ends.
const MessageCannotRun = "the tool host cannot run"

// The paths that the tool host serves.
const (
	PathHealth   = "/health"   // GET: a Health
	PathTools    = "/tools"    // GET: a list of Tool, with HeaderLoading if it is not whole; DELETE /tools/{name} forgets a tool whose file is gone: a Done
	PathCall     = "/call"     // POST a CallRequest: a CallReply
	PathReload   = "/reload"   // POST: a Reloaded
	PathShutdown = "/shutdown" // POST: a Done, and the tool host ends
)

// HeaderLoading is a header of the list of tools while files are left to be loaded.
const HeaderLoading = "Bareclaw-Loading"

// A Health says how the tool host does.
type Health struct {
	Status      string  `json:"status"`
	Uptime      int64   `json:"uptime"` // milliseconds
	ToolCount   int     `json:"toolCount"`
	LastError   *string `json:"lastError"` // why files could not be loaded; nil: all could
	MemoryUsage Memory  `json:"memoryUsage"`

	Problems []Problem `json:"problems,omitempty"` // of files, sorted by file
	Loading  bool      `json:"loading,omitempty"`  // files are left to be loaded
	Busy     []Busy    `json:"busy,omitempty"`     // the tools of which calls wait for a machine
}

// A Problem says why a file is not loaded, or its tool not offered.
type Problem struct {
	File   string `json:"file"` // empty: the directory
	Text   string `json:"error"`
	Serves string `json:"serves,omitempty"` // the tool that an earlier version of the file defines, which serves; empty: none
}

// A Busy tool has calls that have not begun.
type Busy struct {
	Tool    string `json:"tool"`
	Running int    `json:"running"`
	Waiting int    `json:"waiting"`
}

// Healthy is the status of a tool host that answers.
const Healthy = "healthy"

// A Memory is the heap of the tool host, in bytes.
type Memory struct {
	HeapUsed  uint64 `json:"heapUsed"`
	HeapTotal uint64 `json:"heapTotal"`
}

// A Tool is a loaded tool, without its handler.
type Tool struct {
	tools.Tool

	TimeoutMS int64  `json:"timeoutMs,omitempty"`
	File      string `json:"file,omitempty"` // in the tools directory; empty for a built-in tool
	Sum       string `json:"sum,omitempty"`  // of the file, as in File
}

// MachineWait is how long a call of a script waits for a machine, before its own time begins.
const MachineWait = 30 * time.Second

// A CallRequest calls a tool.
type CallRequest struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args,omitempty"`
}

// A CallResult is what a tool has returned, in the shape of MCP.
type CallResult struct {
	Content           []Content       `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	IsError           bool            `json:"isError,omitempty"`
}

// A CallReply is the answer of the tool host to a CallRequest of the daemon.
type CallReply struct {
	CallResult

	Console []string `json:"console,omitempty"` // what the tool has written there meanwhile
	Stuck   bool     `json:"stuck,omitempty"`   // the code of the tool cannot be interrupted, and the tool host ends
}

// A Content is a part of a result; its type is always "text".
type Content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// A Done answers a request that returns nothing else.
type Done struct {
	Success bool   `json:"success"`
	Error   string `json:"error,omitempty"`
}

// A Reloaded lists the tools by name after the tools directory was read again.
type Reloaded struct {
	Success bool     `json:"success"`
	Loaded  []string `json:"loaded"`
}

// CreateTool is the tool that makes tools. The tool host checks the code, and returns a
// NewFile for the daemon to write, because only the daemon can write files.
const CreateTool = "dynamic_tool_create"

// MadeTool begins the files of tools that CreateTool has made.
const MadeTool = "// Made with " + CreateTool

// Available says to those who write a tool what it has beside the language.
const Available = "console, timers, URL, URLSearchParams, TextEncoder, TextDecoder, Buffer, structuredClone, atob, btoa, AbortController, performance.now, " +
	"crypto (randomUUID, getRandomValues, randomBytes, createHash, createHmac, subtle.digest, and HMAC by subtle.importKey, sign and verify), " +
	"and for en-US toLocaleString, localeCompare and Intl (DateTimeFormat, NumberFormat, Collator)"

// maxName is the length of the longest name of a tool that is made, in bytes.
const maxName = 50

// CheckName returns why no tool can be made with a name. Names that other tools have are fine.
func CheckName(name string) error {
	const letters, others = "abcdefghijklmnopqrstuvwxyz", "0123456789_"
	if name == "" || len(name) > maxName || strings.Trim(name, letters+others) != "" || !strings.Contains(letters, name[:1]) {
		return fmt.Errorf("%.120q must be a lowercase letter followed by lowercase letters, digits and _, at most %d in all", name, maxName)
	}
	return nil
}

// A NewFile is what the file of a new tool contains.
type NewFile struct {
	Source string `json:"source"`
}

// DeletedFile lists, line by line, the built-in tools that were deleted. The file is in the
// tools directory, so that snapshots contain it; names that begin with _ are no tools.
const DeletedFile = "_deleted"

// The functions of scripts, which the daemon serves. Errors are a Done with status 403.
const (
	PathFetch     = "/fetch"    // POST a FetchRequest: a FetchResponse
	PathReadFile  = "/fs/read"  // POST a FileRequest: a FileResult
	PathWriteFile = "/fs/write" // POST a FileRequest: a FileResult
	PathListFiles = "/fs/list"  // POST a FileRequest: a FileResult
)

// A FileRequest names a file, and the contents to write.
type FileRequest struct {
	Path string `json:"path"`
	Data []byte `json:"data,omitempty"`
}

// A FileResult has the contents of a file, or the names in a directory.
type FileResult struct {
	Data  []byte   `json:"data,omitempty"`
	Names []string `json:"names,omitempty"`
}

// ResultOf returns the result of a call in the shape of MCP. Clients that know no structure
// read the same as text.
func ResultOf(tool string, r tools.Result) CallResult {
	text := r.Text
	switch {
	case r.IsError && !strings.HasPrefix(text, "Tool: "):
		text = fmt.Sprintf("Tool: %s\nError: %s", tool, text)
	case r.Structured != nil:
		text = string(r.Structured)
	}
	return CallResult{Content: []Content{{Type: "text", Text: text}}, StructuredContent: r.Structured, IsError: r.IsError}
}

// MaxRequest bounds the body of a request to the tool host, in bytes.
const MaxRequest = 4 << 20

// Write answers a request with JSON.
func Write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = plainjson.NewEncoder(w).Encode(v) // an error means that the client has gone
}
