// Package script runs tools that are TypeScript files. A file exports a constant named tool:
//
//	export const tool: DynamicTool = {
//	  name: 'reverse_string',
//	  description: 'Reverse a string',
//	  schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
//	  async handler(args) {
//	    return { reversed: [...args.text].reverse().join('') };
//	  },
//	};
//
// Optional are permissions, annotations, outputSchema and timeoutMs. The file may import types and
// nothing else.
//
// The code runs in a virtual machine that has no authority: no modules, processes or environment,
// and neither files nor network but for the [api.Functions] of the permissions that the tool declares.
// Beside the language of 2023 the machine has what [api.Available] names. Of what depends on a locale
// there is en-US; other locales, and options that would have no effect, are errors.
//
// The state of the module outlives a call, but a tool must not rely on that: calls that overlap
// run in machines of their own, and a machine ends after a timeout, when its memory is exhausted,
// and when it is idle for long. Timers and calls of fetch and fs end with the call of the tool.
package script

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"bareclaw/core/tools"
	"bareclaw/toolhost/api"
)

// Limits of a tool.
const (
	MaxOutput  = 1 << 20 // bytes of the JSON or text that a call returns
	MaxTimeout = 10 * time.Minute

	maxSource       = api.MaxSource    // bytes of a file
	memoryLimit     = 64 << 20         // bytes of one machine
	loadMemoryLimit = 16 << 20         // the same while the file is checked
	loadTimeout     = 2 * time.Second  // a file that only defines a tool takes a millisecond; a busy machine must not refuse it
	compileTimeout  = 10 * time.Second // of all that Compile does
)

// A Script is a tool made from a file. All methods are safe for concurrent use.
type Script struct {
	Name        string
	Description string
	Input       json.RawMessage // JSON Schema of the arguments
	Output      json.RawMessage // JSON Schema of an object that the tool returns; nil: none
	Annotations tools.Annotations
	Permissions []string      // some of "network" and "filesystem"
	Timeout     time.Duration // of a call; never 0

	code *program
	pool *pool
}

// An Error says what is wrong with a file.
type Error struct {
	File         string
	Line, Column int // count from 1; 0: unknown
	Text         string
}

// Error returns "file:line:column: text".
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Compile checks a file and makes a Script of it. The top level of the file runs once, in at most
// two seconds and 16 MiB. The error is an *Error if the file is at fault, the cause of ctx, or wraps
// ErrStuck if the process must be ended.
func Compile(ctx context.Context, file string, source []byte) (*Script, error) {
	late := &Error{File: file, Text: fmt.Sprintf("the file could not be compiled within %s", compileTimeout)}
	ctx, cancel := context.WithTimeoutCause(ctx, compileTimeout, late)
	defer cancel()
	return guard(ctx, func() (*Script, error) {
		if err := Scan(file, source); err != nil {
			return nil, err
		}
		code, err := transpile(file, source)
		if err != nil {
			return nil, err
		}
		declared, err := code.check(ctx)
		if err != nil {
			return nil, err
		}
		s := &Script{code: code, pool: newPool()}
		if err := s.declare(declared); err != nil {
			line, column := exportPosition(string(source))
			return nil, &Error{file, line, column, err.Error()}
		}
		return s, nil
	})
}
