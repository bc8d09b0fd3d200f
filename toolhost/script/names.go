package script

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"

	"bareclaw/internal/humanize"
	"bareclaw/toolhost/api"
)

// has says of what a tool has only a part what that is.
var has = map[string]string{
	"Buffer":        "alloc, allocUnsafe, byteLength, compare, concat, from, isBuffer and isEncoding",
	"console":       "log, info, warn, error, debug, trace, table, dir, assert, count, time, timeEnd, timeLog, group and groupEnd",
	"crypto":        "randomUUID, getRandomValues, randomBytes, createHash, createHmac and subtle",
	"crypto.subtle": "digest, and importKey, sign and verify for HMAC",
	"fs":            "readFile, writeFile and list, which return promises",
	"performance":   "now",
	"AbortSignal":   "abort, any and timeout",
	"Intl":          "Collator, DateTimeFormat, NumberFormat and getCanonicalLocales",
	"URL":           "canParse",
}

// lacks are the names of Node and browsers that authors of tools expect, and a tool does not have.
var lacks = []string{
	"process", "require", "module", "exports", "__dirname", "__filename", "Bun", "Deno", "window", "document", "navigator", "location", "localStorage",
	"Blob", "File", "FormData", "ReadableStream", "WritableStream", "TransformStream", "Request", "Response", "Event", "EventTarget", "CustomEvent",
	"MessageChannel", "BroadcastChannel", "XMLHttpRequest", "WebSocket", "EventSource", "Worker", "WebAssembly", "DOMParser",
}

var undefinedName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^'([\w$]+)' is not defined$`) })

// explain returns the message of an error with the name of what is missing, and what a tool has instead.
func (p *program) explain(o outcome) string {
	if m := undefinedName().FindStringSubmatch(o.text); m != nil {
		switch name := m[1]; {
		case name == "fetch":
			return o.text + "; the tool must declare permissions: ['" + network + "']"
		case name == "fs":
			return o.text + "; the tool must declare permissions: ['" + filesystem + "']"
		case name == "process":
			return "process is not available in a tool, which has no environment and no arguments but its own; pass args"
		case slices.Contains(lacks, name):
			return name + " is not available in a tool, which has " + api.Available
		}
		return o.text
	}
	if o.text != "not a function" && o.text != "not a constructor" {
		return o.text
	}
	if native := nativeFrame().FindStringSubmatch(o.stack); native != nil {
		return "what " + native[1] + " was given is " + o.text
	}
	_, line, column := p.sourceStack(o.stack)
	text := p.line(line)
	name := calleeAt(text, column)
	if name == "" {
		return strings.TrimSuffix(o.text+": "+humanize.Shorten(strings.TrimSpace(text), mostShown), ": ")
	}
	message := name + " is " + o.text
	if i := strings.LastIndexByte(name, '.'); i > 0 && has[name[:i]] != "" {
		return fmt.Sprintf("%s in a tool: %s has %s", message, name[:i], has[name[:i]])
	}
	return message
}

// nativeFrame finds that the first frame of a stack is a function of the language.
var nativeFrame = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^\n]*\n\s*at (\w+) \(native\)`) })

// line returns a line of the source; empty if there is none.
func (p *program) line(n int) string {
	for text := range strings.SplitSeq(p.source, "\n") {
		if n--; n == 0 {
			return text
		}
	}
	return ""
}

// calleeAt returns the name at a column of a line with the names before it, such as console.log; empty if
// there is none.
func calleeAt(line string, column int) string {
	units := utf16.Encode([]rune(line))
	if column < 1 || column > len(units) {
		return ""
	}
	before, after := string(utf16.Decode(units[:column-1])), string(utf16.Decode(units[column-1:]))
	if m := calledFirst().FindStringSubmatch(after); m != nil { // the position of a call may be that of its statement
		return strings.ReplaceAll(m[1], "?.", ".")
	}
	name := nameBegins().FindString(after)
	if name == "" {
		return ""
	}
	return strings.ReplaceAll(namesEnd().FindString(before), "?.", ".") + name
}

var (
	calledFirst = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:return|await|throw|yield|new|void|\s)+\s([\p{L}\p{N}_$.?]+)\(`)
	})
	nameBegins = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^#?[\p{L}_$][\p{L}\p{N}_$]*`) })
	namesEnd   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:[\p{L}_$][\p{L}\p{N}_$]*\??\.)*$`) })
)

// mostShown is how many characters of a line of code an error shows.
const mostShown = 120

// nothing is what the engine throws if it has no memory for an error. A tool can throw it too.
const nothing = "a value that is not an Error was thrown: null"

var throwsNull = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(?:throw|reject)\b[\s(]*null\b`) })

// isOutOfMemory reports whether a tool has failed because it has no memory left.
func (p *program) isOutOfMemory(o *outcome) bool {
	return o.kind == "fail" && (o.text == "out of memory" || o.text == nothing && !throwsNull().MatchString(p.source))
}
