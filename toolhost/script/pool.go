package script

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"bareclaw/core/tools"
	"bareclaw/toolhost/api"
)

// ErrStuck means that the code of a tool cannot be stopped. A goroutine runs it until the process
// ends, so the process should end.
var ErrStuck = errors.New("the code of the tool cannot be stopped, and the tool host has to be restarted")

// stuckAfter is how long after its end a call has to stop.
const stuckAfter = 2 * time.Second

// caught runs f. A panic is an error: it must end the process in no goroutine.
func caught[T any](f func() (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the engine failed: %v", p)
		}
	}()
	return f()
}

// guard runs f, which ends when ctx ends. If f does not end then, guard returns an error that
// wraps ErrStuck.
func guard[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() { // ends with f; code that cannot be stopped runs until the process ends
		var r result
		r.value, r.err = caught(f)
		done <- r
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-time.After(stuckAfter):
		var none T
		return none, fmt.Errorf("%w: %w", context.Cause(ctx), ErrStuck)
	}
}

// An idle machine waits for the next call.
type idle struct {
	machine *machine
	expiry  *time.Timer
}

const (
	maxIdle = 10 * time.Minute // a machine takes 0.3 MiB

	maxIdleMemory = 2 << 20 // bytes of a machine that waits, for the next call or for something from outside
)

// A pool holds the machines of a script that no call has.
type pool struct {
	turns *turns

	mu     sync.Mutex // guards the fields below
	idle   []idle     // the one used last is used next, so that calls in a row find the state of the module
	closed bool
}

func newPool() *pool { return &pool{turns: newTurns()} }

// Tool returns the tool. Its calls may use functions as far as the permissions of the script go;
// nil: not at all. What the tool writes to the console goes to log, which must be safe for concurrent
// use; nil discards the lines. An error of a call wraps ErrStuck if the process must be ended.
func (s *Script) Tool(functions api.Functions, log func(line string)) tools.Tool {
	if log == nil {
		log = func(string) {}
	}
	return tools.Tool{
		Name:        s.Name,
		Description: s.Description,
		Source:      api.Dynamic,
		Input:       s.Input,
		Output:      s.Output,
		Annotations: s.Annotations,
		Timeout:     api.MachineWait + s.Timeout,
		Handle: func(ctx context.Context, c tools.Call) (tools.Result, error) {
			t, err := s.pool.turns.begin(ctx, s.Name)
			if err != nil {
				return s.result(outcome{}, err)
			}
			ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout, &lateError{s.Name, s.Timeout, t})
			defer cancel()
			o, err := guard(ctx, func() (outcome, error) {
				defer t.end()
				return s.call(ctx, &run{code: s.code, functions: functions, log: log, turn: t}, string(c.Args))
			})
			return s.result(o, err)
		},
	}
}

// Calls returns how many calls have begun, and how many wait for a machine.
func (s *Script) Calls() (running, waiting int) { return s.pool.turns.count() }

// call runs the handler.
func (s *Script) call(ctx context.Context, r *run, args string) (outcome, error) {
	m, err := s.machine(ctx, r)
	if err != nil {
		return outcome{}, err
	}
	fit := false // to be used again; not after a panic either
	defer func() {
		if fit {
			s.pool.give(m)
		} else {
			m.close()
		}
	}()
	o, err := r.perform(ctx, m, "call", cmp.Or(args, "{}"))
	fit = err == nil && m.isSmall()
	return o, err
}

// machine returns an idle machine or a new one.
func (s *Script) machine(ctx context.Context, r *run) (*machine, error) {
	if m := s.pool.take(); m != nil {
		return m, nil
	}
	m, err := newMachine(memoryLimit, s.Permissions)
	if err != nil {
		return nil, err
	}
	o, err := m.load(ctx, &run{code: r.code, functions: r.functions, log: r.log})
	if err == nil && o.kind == "fail" {
		err = s.code.fault(o)
	}
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (p *pool) take() *machine {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	last := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	last.expiry.Stop()
	return last.machine
}

func (p *pool) give(m *machine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) == maxComputing {
		m.close()
		return
	}
	p.idle = append(p.idle, idle{m, time.AfterFunc(maxIdle, func() { p.expire(m) })})
}

// expire closes a machine unless it has been taken meanwhile.
func (p *pool) expire(m *machine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = slices.DeleteFunc(p.idle, func(i idle) bool {
		if i.machine == m {
			m.close()
		}
		return i.machine == m
	})
}

// Close frees the machines of the script. Calls go on to work, each on a machine of its own.
func (s *Script) Close() {
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, i := range p.idle {
		i.expiry.Stop()
		i.machine.close()
	}
	p.idle = nil
}

// result makes a result or an error of an outcome.
func (s *Script) result(o outcome, err error) (tools.Result, error) {
	switch {
	case errors.Is(err, errOutOfMemory):
		return tools.Result{}, s.fault(fmt.Sprintf("out of memory: a tool has %d MiB", memoryLimit>>20), o.stack, err)
	case err != nil:
		return tools.Result{}, s.fault(err.Error(), o.stack, err)
	case o.kind == "fail":
		return tools.Result{}, s.fault(s.code.explain(o), o.stack, nil)
	case o.kind == "large" || len(o.text) > MaxOutput:
		return tools.Result{}, s.fault(fmt.Sprintf("the result is too large: a result has at most %d bytes", MaxOutput), "", nil)
	case o.kind == "object":
		return tools.Result{Structured: json.RawMessage(o.text)}, nil
	}
	return tools.Result{Text: o.text}, nil
}

// A fault is the error of a call, as people read it.
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
