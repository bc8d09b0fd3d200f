package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"bareclaw/internal/schema"
)

// An ArgsSchema checks the arguments of a tool. The schema is compiled once, when the tool is first called:
// most tools of a process never are. All methods are safe for concurrent use.
type ArgsSchema struct {
	input json.RawMessage

	once     sync.Once
	compiled *schema.Schema
	err      error
}

// NewArgsSchema returns the ArgsSchema of a JSON Schema.
func NewArgsSchema(input json.RawMessage) *ArgsSchema { return &ArgsSchema{input: input} }

func (a *ArgsSchema) compile() (*schema.Schema, error) {
	a.once.Do(func() { a.compiled, a.err = schema.CompileJSON(a.input) })
	return a.compiled, a.err
}

// maxArgsFaults is how many places an error names.
const maxArgsFaults = 3

// Check returns which arguments of a tool do not fit the schema, or the cause of ctx: a schema may refer to
// itself, or apply so many schemas that a check takes too long.
func (a *ArgsSchema) Check(ctx context.Context, tool string, args json.RawMessage) error {
	s, err := a.compile()
	if err != nil {
		return fmt.Errorf("the schema of %s cannot be used: %w", tool, err)
	}
	v, err := schema.Decode(args)
	if err != nil {
		return fmt.Errorf("the arguments of %s are no JSON: %w", tool, err)
	}
	faults, err := s.Check(ctx, v)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("the schema of %s cannot be used: %w", tool, err)
	case len(faults) == 0:
		return nil
	}
	places := make([]string, 0, maxArgsFaults)
	for _, f := range faults[:min(len(faults), maxArgsFaults)] {
		places = append(places, f.String())
	}
	if more := len(faults) - len(places); more > 0 {
		places = append(places, fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("the arguments of %s do not fit its schema: %s", tool, strings.Join(places, "; "))
}

// Check returns why a registry or claude could not use the tool.
func (t *Tool) Check() error {
	if err := t.fits(); err != nil || t.ChecksArgs {
		return err
	}
	if _, err := NewArgsSchema(t.Input).compile(); err != nil {
		return fmt.Errorf("tool %q: its schema cannot be used: %w", t.Name, err)
	}
	return nil
}

// largeArgs is the size from which on arguments wait for their check, in bytes: many checks at once would
// leave no processor to whatever else the program does.
const largeArgs = 64 << 10

// checkArgs is that of the tool. Of large arguments few are checked at once; the others wait, until ctx ends.
func (r *Registry) checkArgs(ctx context.Context, t *Tool, c *Call) error {
	if len(c.Args) >= largeArgs {
		select {
		case r.checks <- struct{}{}:
			defer func() { <-r.checks }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return t.checkArgs(ctx, c)
}

// checkArgs returns which argument does not fit the schema, unless the tool checks that itself:
// claude does not check.
func (t *Tool) checkArgs(ctx context.Context, c *Call) error {
	if len(c.Args) == 0 || string(c.Args) == "null" {
		c.Args = json.RawMessage("{}")
	}
	if !t.ChecksArgs {
		return t.args.Check(ctx, t.Name, c.Args)
	}
	if !json.Valid(c.Args) {
		return fmt.Errorf("the arguments of %s are no JSON", t.Name)
	}
	return nil
}
