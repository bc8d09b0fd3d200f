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

// shimFiles are the files of shims, in the order in which they are joined.
var shimFiles = []string{"begin", "bytes", "timers", "console", "url", "copies", "crypto", "permissions", "intl", "tool"}

// shims returns the bytecode of the function that makes a machine fit for tools.
var shims = sync.OnceValues(func() ([]byte, error) {
	var body strings.Builder
	for _, name := range shimFiles {
		b, err := shimSources.ReadFile("shims/" + name + ".js")
		if err != nil {
			return nil, err
		}
		body.Write(b)
	}
	r := api.Transform("(permissions, maxOutput) => {\n"+body.String()+"}", api.TransformOptions{
		Target:           api.ES2023,
		MinifyWhitespace: true,                                       // to one line
		Supported:        map[string]bool{"template-literal": false}, // may have lines
	})
	if len(r.Errors) > 0 {
		return nil, fmt.Errorf("the shims: %s", r.Errors[0].Text)
	}
	return bytecode("(" + strings.TrimRight(string(r.Code), ";\n") + ")")
})

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
