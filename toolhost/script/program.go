package script

import (
	"context"
	"errors"
	"fmt"

	"github.com/evanw/esbuild/pkg/api"
	"modernc.org/quickjs"
)

// A program is the code of a file.
type program struct {
	file      string
	source    string
	before    int    // lines before the code that dynamic_tool_create was given; 0: it did not make the file
	bytecode  []byte // of a function that fills module.exports
	sourceMap []byte // to the file; parsed when a stack is shown, since it takes memory
}

// The code is the body of a function. As the banner takes the first line, the frames of a stack
// that are in the first line are those of the shims.
const (
	banner = `(function(module,exports,require){"use strict";`
	footer = `})`
)

func transpile(file string, source []byte) (*program, error) {
	options := transformOptions(file)
	options.Format = api.FormatCommonJS
	options.Banner, options.Footer = banner, footer
	r, err := transform(source, options)
	if err != nil {
		return nil, err
	}
	p := &program{file: file, source: string(source), before: linesBefore(source), sourceMap: r.Map}
	if p.bytecode, err = bytecode(string(r.Code)); err != nil {
		o := outcome{text: err.Error()}
		if e, ok := errors.AsType[*quickjs.Error](err); ok {
			o.stack = e.Stack
		}
		return nil, p.fault(o)
	}
	return p, nil
}

// check runs the top level of the file and returns the declaration of the tool.
func (p *program) check(ctx context.Context) (declared string, err error) {
	if _, err := shims(); err != nil { // before the time runs, since the first call takes long
		return "", err
	}
	loading, cancel := context.WithTimeoutCause(ctx, loadTimeout, fmt.Errorf("the top level of the file did not end within %s", loadTimeout))
	defer cancel()
	o, err := guard(loading, func() (outcome, error) {
		// Which permissions the tool declares is not known before. Here they give nothing.
		m, err := newMachine(loadMemoryLimit, []string{network, filesystem})
		if err != nil {
			return outcome{}, err
		}
		defer m.close()
		return m.load(loading, &run{code: p, log: func(string) {}})
	})
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, ErrStuck):
		return "", err
	case errors.Is(err, errOutOfMemory):
		o.text = fmt.Sprintf("out of memory: the top level of a file has %d MiB", loadMemoryLimit>>20)
	case err != nil:
		o.text = err.Error()
	case o.kind == "object":
		return o.text, nil
	}
	return "", p.fault(o)
}

// fault returns the error of a file that does not run.
func (p *program) fault(o outcome) error {
	e := &Error{File: p.file, Text: p.explain(o)}
	_, e.Line, e.Column = p.sourceStack(o.stack)
	return e
}

func transformOptions(file string) api.TransformOptions {
	return api.TransformOptions{
		Sourcefile:     file,
		Loader:         api.LoaderTS,
		Target:         api.ES2023,
		Charset:        api.CharsetUTF8,
		LegalComments:  api.LegalCommentsNone,
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude,
		TsconfigRaw:    "{}",
		LogLimit:       1,
	}
}

// transform returns the first error of esbuild as an *Error.
func transform(source []byte, options api.TransformOptions) (api.TransformResult, error) {
	if err := checkNesting(options.Sourcefile, source); err != nil {
		return api.TransformResult{}, err
	}
	r := api.Transform(string(source), options)
	if len(r.Errors) == 0 {
		return r, nil
	}
	e := &Error{File: options.Sourcefile, Text: r.Errors[0].Text}
	if at := r.Errors[0].Location; at != nil {
		e.Line, e.Column = at.Line, at.Column+1
	}
	return r, e
}
