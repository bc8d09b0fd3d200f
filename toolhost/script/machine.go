package script

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
	"modernc.org/quickjs"
)

//go:embed shims
var shimSources embed.FS

// shimFiles are the files of the shims that each machine has, in the order in which they are joined.
var shimFiles = []string{"begin", "bytes", "timers", "locale", "tool"}

// shims returns the bytecode of the function that makes a machine fit for tools.
var shims = sync.OnceValues(func() ([]byte, error) { return shimCode("(permissions, maxOutput)", shimFiles...) })

// parts are the bytecodes of shims that a machine has when it needs them.
var parts = func() map[string]func() ([]byte, error) {
	all := map[string]func() ([]byte, error){}
	for _, name := range []string{"text", "buffer", "abort", "console", "url", "copies", "crypto", "web", "files", "intl"} {
		all[name] = sync.OnceValues(func() ([]byte, error) { return shimCode("(shared)", "parts/"+name) })
	}
	return all
}()

// shimCode returns the bytecode of a function whose body are files of the shims.
func shimCode(parameters string, files ...string) ([]byte, error) {
	var body strings.Builder
	for _, name := range files {
		b, err := shimSources.ReadFile("shims/" + name + ".js")
		if err != nil {
			return nil, err
		}
		body.Write(b)
	}
	r := api.Transform(parameters+" => {\n"+body.String()+"}", api.TransformOptions{
		Target:           api.ES2023,
		MinifyWhitespace: true,                                       // to one line
		Supported:        map[string]bool{"template-literal": false}, // may have lines
	})
	if len(r.Errors) > 0 {
		return nil, fmt.Errorf("the shims %s: %s", files, r.Errors[0].Text)
	}
	return bytecode("(" + strings.TrimRight(string(r.Code), ";\n") + ")")
}

// bytecode compiles an expression.
func bytecode(expression string) ([]byte, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("make a virtual machine: %w", err)
	}
	defer func() { _ = vm.Close() }() // never fails
	vm.SetMemoryLimit(memoryLimit)
	return vm.Compile(expression, quickjs.EvalGlobal)
}

// maxDepth is how deep calls may be nested: somewhat deeper than in Node. Each takes 1.4 kB of a stack.
const maxDepth = 12_000

// A machine is a virtual machine for one tool. Only one goroutine at a time may use a machine.
type machine struct {
	vm    *quickjs.VM
	enter quickjs.Value // the function that the shims return
	run   *run          // serves the machine; nil outside of calls
}

// newMachine makes a machine that may take the given number of bytes.
func newMachine(memory uintptr, permissions []string) (*machine, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("make a virtual machine: %w", err)
	}
	vm.SetMemoryLimit(memory)
	vm.SetMaxStackSize(maxDepth)
	m := &machine{vm: vm}
	if err := m.setUp(permissions); err != nil {
		m.close()
		return nil, fmt.Errorf("set up the virtual machine: %w", err)
	}
	return m, nil
}

func (m *machine) setUp(permissions []string) error {
	code, err := shims()
	if err != nil {
		return err
	}
	err = m.vm.RegisterHostFunc("__host", func(args []any) (any, error) { return m.run.operate(args) })
	if err != nil {
		return err
	}
	f, err := m.vm.EvalBytecodeValue(code)
	if err != nil {
		return err
	}
	defer f.Free()
	m.enter, err = f.CallValue(quickjs.UndefinedValue, strings.Join(permissions, " "), MaxOutput)
	return err
}

// loadPart hands a part of the shims to the machine.
func (m *machine) loadPart(name string) error {
	part, ok := parts[name]
	if !ok {
		return fmt.Errorf("there is no part %q", name)
	}
	code, err := part()
	if err != nil {
		return err
	}
	f, err := m.vm.EvalBytecodeValue(code)
	if err != nil {
		return err
	}
	defer f.Free()
	return m.call("part", f)
}

// isSmall reports whether the machine holds little memory. The engine does not tell how much, but
// refuses memory to a machine that has more than its limit.
func (m *machine) isSmall() bool {
	m.vm.SetMemoryLimit(maxIdleMemory)
	defer m.vm.SetMemoryLimit(memoryLimit)
	v, err := m.vm.EvalValue("[]", quickjs.EvalGlobal)
	if err == nil {
		v.Free()
	}
	return err == nil
}

// load runs the top level of a file. The outcome is the declaration of the tool.
func (m *machine) load(ctx context.Context, r *run) (outcome, error) {
	f, err := m.vm.EvalBytecodeValue(r.code.bytecode)
	if err != nil {
		return outcome{}, err
	}
	defer f.Free()
	return r.perform(ctx, m, "load", f)
}

// close frees the memory of the machine.
func (m *machine) close() {
	if m.enter.VM() != nil {
		m.enter.Free()
	}
	_ = m.vm.Close() // never fails
}

// call calls an entry of the shims. An error means that the machine must not be used any more.
func (m *machine) call(entry string, args ...any) error {
	_, err := m.enter.Call(quickjs.UndefinedValue, append([]any{entry}, args...)...)
	return err
}

// drain runs what promises wait for, until nothing is left or ctx ends.
func (m *machine) drain(ctx context.Context) error {
	for {
		n, err := m.vm.ExecutePendingJobs()
		if err == nil || n < maxJobs || ctx.Err() != nil {
			return err
		}
	}
}

// maxJobs is the number of jobs after which the engine ends to run them with an error: there may be more.
const maxJobs = 1 << 20
