package script

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evanw/esbuild/pkg/api"
	"modernc.org/quickjs"
)

//go:embed shims.js
var shimsSource []byte

// shims returns the bytecode of shims.js.
var shims = sync.OnceValues(func() ([]byte, error) {
	r, err := transform(shimsSource, api.TransformOptions{Sourcefile: "shims.js", Loader: api.LoaderJS, Target: api.ES2023, MinifyWhitespace: true, Charset: api.CharsetASCII})
	if err != nil {
		return nil, err
	}
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, err
	}
	defer vm.Close()
	return vm.Compile("("+strings.TrimRight(string(r.Code), ";\n")+")", quickjs.EvalGlobal)
})

// A machine is a virtual machine with a loaded tool. One goroutine at a time uses a machine.
type machine struct {
	vm    *quickjs.VM
	enter quickjs.Value // the function that shims.js returns

	log  func(line string)
	host Functions // nil: none

	// The rest belongs to one call.
	ctx     context.Context // of the call that runs: the engine calls the host without one
	outcome *outcome        // nil until the handler has ended
	timers  []timer         // by time
	calls   map[int]struct{}
	settled chan settlement
}

// An outcome is how a handler ended.
type outcome struct {
	kind  string // "text", "object" or "fail"
	text  string // the result, or the message of an error
	stack string // of an error
}

type timer struct {
	id int
	at time.Time
}

// A settlement ends a call of the host.
type settlement struct {
	id    int
	value any
	err   error
}

var errOutOfMemory = fmt.Errorf("out of memory: a tool has %d MiB", memoryLimit>>20)

// newMachine makes a machine without a tool.
func newMachine(memory uintptr, permissions []string, host Functions, log func(string)) (_ *machine, err error) {
	code, err := shims()
	if err != nil {
		return nil, err
	}
	m := &machine{host: host, log: log}
	if m.vm, err = quickjs.NewVM(); err != nil {
		return nil, err
	}
	m.vm.SetMemoryLimit(memory)
	if err := m.start(code, permissions); err != nil {
		m.close()
		return nil, fmt.Errorf("start the machine: %w", err)
	}
	return m, nil
}

func (m *machine) start(code []byte, permissions []string) error {
	if err := m.vm.RegisterHostFunc("__host", m.operate); err != nil {
		return err
	}
	f, err := m.vm.EvalBytecodeValue(code)
	if err != nil {
		return err
	}
	defer f.Free()
	m.enter, err = f.CallValue(quickjs.UndefinedValue, strings.Join(permissions, " "))
	return err
}

func (m *machine) close() {
	if m.enter.VM() != nil {
		m.enter.Free()
	}
	_ = m.vm.Close() // always nil
}

// load runs the top level of a file. The outcome is the declaration of the tool.
func (m *machine) load(ctx context.Context, bytecode []byte) (outcome, error) {
	return m.run(ctx, func() error {
		f, err := m.vm.EvalBytecodeValue(bytecode)
		if err != nil {
			return err
		}
		defer f.Free()
		return m.call("load", f)
	})
}

// run enters the machine and serves its timers and calls until there is an outcome. An error means
// that the machine must not be used any more.
func (m *machine) run(ctx context.Context, begin func() error) (outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errEnded)
	defer m.interrupt(ctx)()
	m.ctx, m.outcome = ctx, nil
	m.timers, m.calls, m.settled = nil, map[int]struct{}{}, make(chan settlement)
	err := begin()
	for err == nil && m.outcome == nil {
		if err = m.drain(); err == nil && m.outcome == nil {
			err = m.next()
		}
	}
	if err == nil {
		err = m.drain()
	}
	if err == nil && len(m.timers)+len(m.calls) > 0 {
		err = m.call("reset")
	}
	switch {
	case ctx.Err() != nil:
		return outcome{stack: stackOf(err)}, context.Cause(ctx)
	case err != nil:
		return outcome{stack: stackOf(err)}, err
	}
	return *m.outcome, nil
}

var (
	errEnded = errors.New("the call of the tool has ended")
	errIdle  = errors.New("the handler's promise can no longer settle: nothing is left that could do so")
)

// interrupt stops the code when ctx ends. The engine drops an interrupt that comes between two
// entries, therefore it is repeated until the returned function is called.
func (m *machine) interrupt(ctx context.Context) (stop func()) {
	ended := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		again := time.NewTicker(10 * time.Millisecond)
		defer again.Stop()
		for {
			m.vm.Interrupt()
			select {
			case <-ended:
				return
			case <-again.C:
			}
		}
	})
	return func() {
		unwatch()
		close(ended)
	}
}

func (m *machine) call(entry string, args ...any) error {
	_, err := m.enter.Call(quickjs.UndefinedValue, append([]any{entry}, args...)...)
	return err
}

// drain runs the code that promises wait for.
func (m *machine) drain() error {
	_, err := m.vm.ExecutePendingJobs()
	return err
}

// next waits for a timer or the end of a call, and tells the machine.
func (m *machine) next() error {
	if err := m.ctx.Err(); err != nil {
		return err
	}
	if len(m.timers)+len(m.calls) == 0 {
		return errIdle
	}
	var due <-chan time.Time
	if len(m.timers) > 0 {
		due = time.After(time.Until(m.timers[0].at))
	}
	select {
	case <-m.ctx.Done():
		return m.ctx.Err()
	case <-due:
		id := m.timers[0].id
		m.timers = m.timers[1:]
		return m.call("settle", id, nil)
	case s := <-m.settled:
		delete(m.calls, s.id)
		if s.err != nil {
			return m.call("settle", s.id, s.err.Error())
		}
		return m.call("settle", s.id, nil, s.value)
	}
}

// maxTimer bounds a timer, which cannot outlive the call of the tool.
const maxTimer = 2 * MaxTimeout

// operate carries out what shims.js asks for. An error is thrown as a TypeError.
func (m *machine) operate(args []any) (any, error) {
	text := func(i int) string { s, _ := args[i].(string); return s }
	switch operation := text(0); operation {
	case "text", "object":
		m.outcome = &outcome{kind: operation, text: text(1)}
	case "fail":
		m.outcome = &outcome{kind: operation, text: text(1), stack: text(2)}
	case "log":
		m.log(text(1))
	case "timer":
		m.addTimer(args[1].(int), number(args[2]))
	case "cancel":
		id := args[1].(int)
		m.timers = slices.DeleteFunc(m.timers, func(t timer) bool { return t.id == id })
	default:
		return nil, fmt.Errorf("there is no operation %q", operation)
	}
	return nil, nil
}

func (m *machine) addTimer(id int, ms float64) {
	wait := time.Duration(min(ms, float64(maxTimer.Milliseconds())) * float64(time.Millisecond))
	t := timer{id, time.Now().Add(wait)}
	i, _ := slices.BinarySearchFunc(m.timers, t, func(a, b timer) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id))
	})
	m.timers = slices.Insert(m.timers, i, t)
}

// number returns a number of the machine, which is an int or a float64.
func number(v any) float64 {
	if i, ok := v.(int); ok {
		return float64(i)
	}
	f, _ := v.(float64)
	return f
}

func stackOf(err error) string {
	if e, ok := errors.AsType[*quickjs.Error](err); ok {
		return e.Stack
	}
	return ""
}
