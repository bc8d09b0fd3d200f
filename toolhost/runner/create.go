package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"bareclaw/core/tools"
	"bareclaw/toolhost/api"
	"bareclaw/toolhost/script"
)

// checkTool returns the part of dynamic_tool_create that the tool host carries out: the tool
// checks the code and returns the file, which the daemon writes. The daemon offers the whole.
func (l *loader) checkTool() tools.Tool {
	return tools.Tool{
		Name:        api.CreateTool,
		Description: "Check a tool, and return its file.",
		Input: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"description":{"type":"string"},"schema":{"type":"object"},` +
			`"code":{"type":"string"},"permissions":{"type":"array","items":{"type":"string"}},"timeoutMs":{"type":"integer"},"outputSchema":{"type":"object"},"annotations":{"type":"object"}},"required":["name","description","schema","code"]}`),
		Annotations: tools.Annotations{ReadOnly: true, Idempotent: true},
		Handle:      tools.WithArgs(l.create),
	}
}

// createArgs are the arguments of dynamic_tool_create.
type createArgs struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Code        string          `json:"code"`
	Permissions []string        `json:"permissions"`
	TimeoutMS   int64           `json:"timeoutMs"`
	Output      json.RawMessage `json:"outputSchema"`
	Annotations json.RawMessage `json:"annotations"`
}

// optional returns the members of the file that need not be there.
func (a *createArgs) optional() script.Optional {
	return script.Optional{Permissions: a.Permissions, TimeoutMS: a.TimeoutMS, Output: a.Output, Annotations: a.Annotations}
}

// errNoBody means that code does more than fill the body of the handler.
var errNoBody = errors.New("code: it must be the body of a function, but ends the function and changes what the tool is")

// create checks a tool.
func (l *loader) create(ctx context.Context, _ tools.Call, args createArgs) (tools.Result, error) {
	if err := api.CheckName(args.Name); err != nil {
		return tools.Result{}, fmt.Errorf("name: %w", err)
	}
	if len(args.Code) > api.MaxSource {
		return tools.Result{}, fmt.Errorf("code: %d bytes are too many; at most %d", len(args.Code), api.MaxSource)
	}
	if err := cmp.Or(script.CheckMembers(args.Description, args.Schema, args.Permissions), args.checkSchemas()); err != nil {
		return tools.Result{}, err
	}
	source, before := script.Wrap(args.Name, args.Description, args.Schema, args.Code, args.optional())
	if !script.IsBody(args.Code) { // before any of it runs
		return tools.Result{}, cmp.Or(inCode(script.CheckSource("code", source), before), errNoBody)
	}
	if err := script.CheckBody(args.Code); err != nil {
		return tools.Result{}, fmt.Errorf("code: %w", err)
	}
	s, err := l.compile(ctx, "code", api.File{}, source)
	if err != nil {
		return tools.Result{}, inCode(err, before)
	}
	defer s.Close()
	if !args.describe(s) {
		return tools.Result{}, errNoBody
	}
	t := l.toolOf(s, api.File{})
	if err := l.check(&t); err != nil {
		return tools.Result{}, err
	}
	return tools.Object(api.NewFile{Source: string(source)})
}

// checkSchemas returns what is wrong with the schemas.
func (a *createArgs) checkSchemas() error {
	if err := cmp.Or(checkSchema(a.Schema), checkHeaders(a.Schema)); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if err := checkSchema(a.Output); err != nil {
		return fmt.Errorf("outputSchema: %w", err)
	}
	return nil
}

// describe reports whether each member of a script but its handler is as it was asked for. What is not
// asked for must not be there.
func (a *createArgs) describe(s *script.Script) bool {
	timeout := tools.DefaultTimeout
	if a.TimeoutMS != 0 {
		timeout = time.Duration(a.TimeoutMS) * time.Millisecond
	}
	var hints tools.Annotations
	if a.Annotations != nil && json.Unmarshal(a.Annotations, &hints) != nil {
		return false
	}
	return s.Name == a.Name && s.Description == a.Description && sameJSON(s.Input, a.Schema) && (s.Output == nil && a.Output == nil || sameJSON(s.Output, a.Output)) &&
		s.Annotations == hints && s.Timeout == timeout && sameSet(s.Permissions, a.Permissions)
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Compact(slices.Sorted(slices.Values(a))), slices.Compact(slices.Sorted(slices.Values(b))))
}

// inCode makes an error of the file point into the given code, which begins after some lines.
func inCode(err error, linesBefore int) error {
	var at *script.Error
	if !errors.As(err, &at) || at.Line <= linesBefore {
		return err
	}
	moved := *at
	moved.Line -= linesBefore
	return &moved
}
