package toolhost

import (
	"context"
	"strings"
	"sync"
	"testing"

	"bareclaw/core/tools"
)

// TestRefusedArguments: many calls at once whose large arguments do not fit the schema are refused, and cost
// neither the tool host nor other calls.
func TestRefusedArguments(t *testing.T) {
	t.Parallel()
	r := start(t)
	before := r.now().PID
	args := `{"a":[` + strings.Repeat(`"`+strings.Repeat("x", 17)+`",`, 100_000) + `0]}`
	var calls sync.WaitGroup
	for range 40 {
		calls.Go(func() { r.refuses("object_diff", args, "the arguments of object_diff do not fit its schema") })
	}
	for range 20 {
		calls.Go(func() { r.gives("hello_world", `{}`, `{"greeting":"Hello, World!"}`) })
	}
	calls.Wait()
	if s := r.now(); s.PID != before || s.RestartCount != 0 || r.log.has("does not answer") {
		t.Errorf("the state is %+v", s)
	}
}

// TestSlowTools: calls that wait for slow tools do not keep others out, not even those of the same client.
func TestSlowTools(t *testing.T) {
	t.Parallel()
	r := start(t)
	for _, name := range []string{"slow", "slower"} {
		r.write(name+".ts", fileWith(name, "Slow", "timeoutMs: 600000,", "console.log('begun'); await new Promise((done) => setTimeout(done, 600_000));"))
		r.offers(name, "Slow")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for i := range 300 {
		name := []string{"slow", "slower"}[i%2]
		calls.Go(func() { _, _ = r.registry.Call(ctx, name, tools.Call{}) }) // ends with ctx, or is refused
	}
	r.eventually("both tools run", func() bool { return strings.Count(r.log.String(), "line=begun") == 2*maxCallsOfTool })
	for range 3 {
		got, err := r.registry.Call(t.Context(), "hello_world", tools.Call{})
		if err != nil || got.IsError {
			t.Errorf("hello_world: %s, %v", shortened(got), err)
		}
	}
	cancel()
	calls.Wait()
}
