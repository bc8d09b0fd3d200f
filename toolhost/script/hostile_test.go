package script

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"bareclaw/core/tools"
	"bareclaw/toolhost/api"
)

// A granting has functions that take whatever they get. Reading panics.
type granting struct{}

func (granting) Fetch(context.Context, api.FetchRequest) (api.FetchResponse, error) {
	return api.FetchResponse{Status: 200}, nil
}

func (granting) ReadFile(context.Context, string) ([]byte, error) { panic("no luck") }

func (granting) WriteFile(context.Context, string, []byte) error { return nil }

func (granting) ListFiles(context.Context, string) ([]string, error) { return nil, nil }

// TestHostile: whatever a tool makes of the language below the shims costs its own call at most.
func TestHostile(t *testing.T) {
	t.Parallel()
	const (
		noIterators = "Array.prototype[Symbol.iterator] = function () { return { next() { return { done: true } } } };"
		noLength    = "Object.defineProperty(Object.getPrototypeOf(Uint8Array.prototype), 'length', { get() { return -1 } });"
	)
	for name, c := range map[string]struct{ code, says string }{
		"read":      {"void fs;" + noIterators + "await fs.readFile('/x')", "argument"},
		"write":     {"void fs;" + noIterators + "await fs.writeFile('/x', 'y')", "argument"},
		"list":      {"void fs;" + noIterators + "await fs.list('/x')", "argument"},
		"fetch":     {"void fetch;" + noIterators + "await fetch('https://example.com')", "argument"},
		"a panic":   {"await fs.readFile('/x')", "the engine failed: no luck"},
		"random":    {noLength + "crypto.getRandomValues(new Uint8Array(4))", "65536"},
		"much":      {"crypto.getRandomValues(new Uint8Array(65537))", "65536"},
		"an object": {strings.ReplaceAll(noLength, "-1", "{}") + "crypto.getRandomValues(new Uint8Array(4))", "65536"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := body(t, c.code, network, filesystem).Tool(granting{}, nil)
			_, err := tool.Handle(t.Context(), tools.Call{Args: json.RawMessage(`{}`)})
			if err == nil || errors.Is(err, ErrStuck) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}
