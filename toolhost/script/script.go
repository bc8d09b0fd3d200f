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
// Optional are permissions, annotations, outputSchema and timeoutMs. The code runs in a virtual
// machine that has no authority: no modules, processes, environment, files or network, but for
// the [Functions] that the tool declares permissions for.
//
// The state of the module outlives a call, but a tool must not rely on that: calls that overlap
// run in machines of their own, and a machine is replaced after a timeout or when its memory
// is exhausted. Timers and calls of fetch and fs end with the call of the tool.
package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"modernc.org/quickjs"

	"bareclaw/core/tools"
)

// Limits of a tool.
const (
	MaxSource  = 1 << 20 // bytes of a file
	MaxOutput  = 1 << 20 // bytes of the JSON or text that a call returns
	MaxTimeout = 10 * time.Minute

	memoryLimit     = 64 << 20 // bytes of one machine
	loadMemoryLimit = 16 << 20 // the same while the file is checked
	loadTimeout     = 250 * time.Millisecond
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

	code program
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
// 250 ms and 16 MiB. The error is an *Error if the file is at fault, and wraps ErrStuck if the
// process must be ended.
func Compile(ctx context.Context, file string, source []byte) (*Script, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, compileTimeout, &Error{File: file, Text: fmt.Sprintf("the file could not be compiled within %s", compileTimeout)})
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
			line, column := exportPosition(source)
			return nil, &Error{file, line, column, err.Error()}
		}
		return s, nil
	})
}

// check makes the bytecode and runs the top level of the file. It returns the declaration of the
// tool.
func (p *program) check(ctx context.Context) (declared string, err error) {
	// Which permissions the tool declares is not known before. Here they give nothing.
	m, err := newMachine(loadMemoryLimit, []string{network, filesystem})
	if err != nil {
		return "", err
	}
	defer m.close()
	if p.bytecode, err = m.vm.Compile(p.code, quickjs.EvalGlobal); err != nil {
		return "", p.fault(outcome{text: err.Error()})
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loadTimeout, fmt.Errorf("the top level of the file did not end within %s", loadTimeout))
	defer cancel()
	o, err := m.load(ctx, &run{code: p, log: func(string) {}})
	switch {
	case errors.Is(err, errOutOfMemory):
		o.text = fmt.Sprintf("out of memory: the top level of a file has %d MiB", loadMemoryLimit>>20)
	case err != nil:
		o.text = err.Error()
	case o.kind == "object":
		return o.text, nil
	}
	return "", p.fault(o)
}

// fault returns the error of a file whose top level fails.
func (p *program) fault(o outcome) error {
	e := &Error{File: p.file, Text: o.text}
	_, e.Line, e.Column = p.sourceStack(o.stack)
	return e
}

// Names of permissions.
const (
	network    = "network"
	filesystem = "filesystem"
)

var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,49}$`) })

// A declaration is the exported object as JSON. Members have any type, because the file may be
// wrong.
type declaration struct {
	Exports     []string `json:"exports"` // names of all exports
	Kind        string   `json:"kind"`    // of the export named tool
	Name        any      `json:"name"`
	Description any      `json:"description"`
	Schema      any      `json:"schema"`
	Output      any      `json:"outputSchema"`
	Handler     string   `json:"handler"` // its kind
	Permissions any      `json:"permissions"`
	Annotations any      `json:"annotations"`
	Timeout     any      `json:"timeoutMs"`
}

// declare takes over the exported object.
func (s *Script) declare(text string) error {
	var d declaration
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return fmt.Errorf("the exported tool is no JSON: %w", err)
	}
	name, _ := d.Name.(string)
	description, _ := d.Description.(string)
	switch {
	case d.Kind == "undefined":
		return fmt.Errorf("the file must export a constant named tool, as in: export const tool = {...}; its exports are %q", d.Exports)
	case d.Kind != "object":
		return fmt.Errorf("the exported tool must be an object, not a value of type %s", d.Kind)
	case !nameForm().MatchString(name):
		return fmt.Errorf("the name of the tool must be 1 to 50 lower-case letters, digits and _ and begin with a letter, not %s", show(d.Name))
	case description == "":
		return fmt.Errorf("the description of the tool must be a text")
	case d.Handler != "function":
		return fmt.Errorf("the handler of the tool must be a function")
	}
	s.Name, s.Description = name, description
	var err error
	if s.Input, err = objectSchema("schema", d.Schema); err != nil {
		return err
	}
	if d.Output != nil {
		if s.Output, err = objectSchema("outputSchema", d.Output); err != nil {
			return err
		}
	}
	if err := s.declarePermissions(d.Permissions); err != nil {
		return err
	}
	if err := s.declareAnnotations(d.Annotations); err != nil {
		return err
	}
	return s.declareTimeout(d.Timeout)
}

func objectSchema(member string, v any) (json.RawMessage, error) {
	schema, ok := v.(map[string]any)
	if !ok || schema["type"] != "object" {
		return nil, fmt.Errorf("the %s of the tool must be a JSON Schema whose type is \"object\"", member)
	}
	return json.Marshal(schema)
}

func (s *Script) declarePermissions(v any) error {
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("the permissions of the tool must be a list, such as ['network']")
	}
	for _, p := range list {
		switch p {
		case network, filesystem:
			if !slices.Contains(s.Permissions, p.(string)) {
				s.Permissions = append(s.Permissions, p.(string))
			}
		case "ai", "browser":
			return fmt.Errorf("the permission %q is not available yet; use network or filesystem", p)
		default:
			return fmt.Errorf("there is no permission %s; there are network and filesystem", show(p))
		}
	}
	return nil
}

func (s *Script) declareAnnotations(v any) error {
	if v == nil {
		return nil
	}
	members, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("the annotations of the tool must be an object")
	}
	for member, value := range members {
		if member == "title" {
			if s.Annotations.Title, ok = value.(string); !ok {
				return fmt.Errorf("the annotation title must be a text")
			}
			continue
		}
		to := map[string]*bool{
			"readOnlyHint":    &s.Annotations.ReadOnly,
			"idempotentHint":  &s.Annotations.Idempotent,
			"destructiveHint": &s.Annotations.Destructive,
			"openWorldHint":   new(bool),
		}[member]
		if to == nil {
			return fmt.Errorf("there is no annotation %q; there are title, readOnlyHint, idempotentHint, destructiveHint and openWorldHint", member)
		}
		if *to, ok = value.(bool); !ok {
			return fmt.Errorf("the annotation %s must be true or false", member)
		}
	}
	return nil
}

func (s *Script) declareTimeout(v any) error {
	if v == nil {
		s.Timeout = tools.DefaultTimeout
		return nil
	}
	ms, ok := v.(float64)
	if !ok || ms < 1 || ms > float64(MaxTimeout.Milliseconds()) {
		return fmt.Errorf("timeoutMs of the tool must be a number from 1 to %d, not %s", MaxTimeout.Milliseconds(), show(v))
	}
	s.Timeout = time.Duration(ms * float64(time.Millisecond))
	return nil
}

// show returns a value as JSON, shortened.
func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil || len(b) > 100 {
		return fmt.Sprintf("a long value of type %T", v)
	}
	return string(b)
}

var exported = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`export\s+(?:const|let|var)\s+tool\b|export\s+default\b|export\s*\{`)
})

// exportPosition returns where the tool is exported, or the beginning of the file.
func exportPosition(source []byte) (line, column int) {
	at := exported().FindIndex(source)
	if at == nil {
		return 1, 1
	}
	return positionOf(source, at[0])
}
