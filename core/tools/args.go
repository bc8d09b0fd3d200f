package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"bareclaw/internal/schema"
)

// A Schema checks the arguments of a tool, or its results. It is compiled once, when the tool is first called:
// most tools of a process never are. All methods are safe for concurrent use.
type Schema struct {
	text  json.RawMessage
	words *words

	once     sync.Once
	compiled *schema.Schema
	err      error
}

// words are the formats of errors, which name the tool and the reason.
type words struct{ unusable, noJSON, misfit string }

var (
	wordsOfArgs   = &words{"the schema of %s cannot be used: %w", "the arguments of %s are no JSON: %w", "the arguments of %s do not fit its schema: %s"}
	wordsOfOutput = &words{"the outputSchema of %s cannot be used: %w", "the result of %s is not JSON: %w", "the result of %s does not fit its outputSchema: %s"}
)

// NewArgsSchema returns the Schema of arguments that a JSON Schema describes.
func NewArgsSchema(text json.RawMessage) *Schema { return &Schema{text: text, words: wordsOfArgs} }

// NewOutputSchema returns the Schema of results that a JSON Schema describes.
func NewOutputSchema(text json.RawMessage) *Schema { return &Schema{text: text, words: wordsOfOutput} }

func (s *Schema) compile() (*schema.Schema, error) {
	s.once.Do(func() { s.compiled, s.err = schema.CompileJSON(s.text) })
	return s.compiled, s.err
}

// maxFaults is how many places an error names.
const maxFaults = 3

// Check returns where a value of a tool does not fit, or the cause of ctx: a schema may refer to itself, or
// apply so many schemas that a check takes too long.
func (s *Schema) Check(ctx context.Context, tool string, value json.RawMessage) error {
	compiled, err := s.compile()
	if err != nil {
		return fmt.Errorf(s.words.unusable, tool, err)
	}
	v, err := schema.Decode(value)
	if err != nil {
		return fmt.Errorf(s.words.noJSON, tool, err)
	}
	faults, err := compiled.Check(ctx, v)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf(s.words.unusable, tool, err)
	case len(faults) == 0:
		return nil
	}
	places := make([]string, 0, maxFaults)
	for _, f := range faults[:min(len(faults), maxFaults)] {
		places = append(places, f.String())
	}
	if more := len(faults) - len(places); more > 0 {
		places = append(places, fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf(s.words.misfit, tool, strings.Join(places, "; "))
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

// CheckArgs returns why the arguments of a call do not fit the schema of a tool of the registry. Of a tool that
// checks its arguments itself only their form is checked. It returns the cause of ctx if that ends before.
func (r *Registry) CheckArgs(ctx context.Context, t *Tool, args json.RawMessage) error {
	return r.checkArgs(ctx, t, &Call{Args: args})
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
