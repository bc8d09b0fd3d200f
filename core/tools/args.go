package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// An argsSchema checks the arguments of a tool. The schema is compiled when the tool is first
// called: most tools of a process never are.
type argsSchema struct {
	input json.RawMessage

	once     sync.Once
	resolved *jsonschema.Resolved
	err      error
}

func (a *argsSchema) compile() (*jsonschema.Resolved, error) {
	a.once.Do(func() {
		var s jsonschema.Schema
		if a.err = json.Unmarshal(a.input, &s); a.err == nil {
			a.resolved, a.err = s.Resolve(nil)
		}
	})
	return a.resolved, a.err
}

// Check returns why a registry or claude could not use the tool.
func (t *Tool) Check() error {
	if err := t.fits(); err != nil || t.ChecksArgs {
		return err
	}
	if _, err := (&argsSchema{input: t.Input}).compile(); err != nil {
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
	return t.checkArgs(c)
}

// checkArgs returns which argument does not fit the schema, unless the tool checks that itself:
// claude does not check.
func (t *Tool) checkArgs(c *Call) error {
	if len(c.Args) == 0 || string(c.Args) == "null" {
		c.Args = json.RawMessage("{}")
	}
	var args any
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return fmt.Errorf("the arguments of %s are no JSON: %w", t.Name, err)
	}
	if t.ChecksArgs {
		return nil
	}
	schema, err := t.args.compile()
	if err != nil {
		return fmt.Errorf("the schema of %s cannot be used: %w", t.Name, err)
	}
	if err := schema.Validate(args); err != nil {
		return fmt.Errorf("the arguments of %s do not fit its schema: %w", t.Name, err)
	}
	return nil
}
