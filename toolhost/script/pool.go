package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"bareclaw/core/tools"
)

// ErrStuck means that the code of a tool cannot be stopped. A goroutine runs it until the process
// ends, so the process should end.
var ErrStuck = errors.New("the code of the tool cannot be stopped")

// stuckAfter is how long after its end a call has to stop.
const stuckAfter = 2 * time.Second

// guard runs f, which ends when ctx ends. If f does not end then, guard returns an error that
// wraps ErrStuck.
func guard(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { // ends with f; code that is stuck stays until the process ends
		var err error
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("the engine failed: %v", p)
			}
			done <- err
		}()
		err = f()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(stuckAfter):
		return fmt.Errorf("%w: %w", context.Cause(ctx), ErrStuck)
	}
}

// maxMachines is how many calls of one tool run at once.
const maxMachines = 4

// A pool holds the machines of a tool.
type pool struct {
	free chan struct{} // a token for each machine that may run

	mu     sync.Mutex // guards the fields below
	idle   []*machine // the one used last is used next
	closed bool
}

func newPool() *pool { return &pool{free: make(chan struct{}, maxMachines)} }

// Tool returns the tool. Its calls may use host as far as the permissions of the script go; nil:
// not at all. What the tool writes to the console goes to log, which must be safe for concurrent
// use.
func (s *Script) Tool(host Functions, log func(line string)) tools.Tool {
	return tools.Tool{
		Name:        s.Name,
		Description: s.Description,
		Input:       s.Input,
		Output:      s.Output,
		Annotations: s.Annotations,
		Timeout:     s.Timeout,
		Source:      tools.Dynamic,
		Handle: func(ctx context.Context, c tools.Call) (tools.Result, error) {
			return s.handle(ctx, host, log, c)
		},
	}
}

func (s *Script) handle(ctx context.Context, host Functions, log func(string), c tools.Call) (tools.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout, fmt.Errorf("%s did not end within %s", s.Name, s.Timeout))
	defer cancel()
	args := string(c.Args)
	if args == "" {
		args = "{}"
	}
	var o outcome
	err := guard(ctx, func() (err error) {
		o, err = s.pool.call(ctx, s, host, log, args)
		return err
	})
	return s.result(o, err)
}

// call runs the handler on an idle machine or a new one.
func (p *pool) call(ctx context.Context, s *Script, host Functions, log func(string), args string) (o outcome, err error) {
	select {
	case p.free <- struct{}{}:
		defer func() { <-p.free }()
	case <-ctx.Done():
		return outcome{}, context.Cause(ctx)
	}
	m := p.take()
	if m == nil {
		if m, err = s.code.start(ctx, memoryLimit, s.Permissions, host, log); err != nil {
			return outcome{}, err
		}
	}
	o, err = m.run(ctx, func() error { return m.call("call", args) })
	if err != nil || strings.Contains(o.text, "out of memory") {
		m.close()
		return o, err
	}
	p.give(m)
	return o, nil
}

func (p *pool) take() *machine {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	m := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return m
}

func (p *pool) give(m *machine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		m.close()
		return
	}
	p.idle = append(p.idle, m)
}

// Close frees the machines of the script. Calls that run may end; they and later calls still work.
func (s *Script) Close() {
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, m := range p.idle {
		m.close()
	}
	p.idle = nil
}

// result makes the result of a call of its outcome.
func (s *Script) result(o outcome, err error) (tools.Result, error) {
	switch {
	case err != nil:
		return tools.Result{}, s.fault(err.Error(), o.stack, err)
	case o.kind == "fail":
		return tools.Result{}, s.fault(o.text, o.stack, nil)
	case len(o.text) > MaxOutput:
		return tools.Result{}, s.fault(fmt.Sprintf("the result has %d bytes; a result has at most %d", len(o.text), MaxOutput), "", nil)
	case o.kind == "object":
		return tools.Result{Structured: json.RawMessage(o.text)}, nil
	}
	return tools.Result{Text: o.text}, nil
}

// A fault is the error of a call.
type fault struct {
	tool, message, stack string
	cause                error
}

func (s *Script) fault(message, stack string, cause error) error {
	stack, _, _ = s.code.sourceStack(stack)
	return &fault{s.Name, message, stack, cause}
}

func (f *fault) Error() string {
	return fmt.Sprintf("Tool: %s\nError: %s\n\nStack trace:\n%s", f.tool, f.message, f.stack)
}

func (f *fault) Unwrap() error { return f.cause }
