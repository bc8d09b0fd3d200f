package schema

import (
	"context"
	"errors"
	"fmt"
	"time"

	"modernc.org/quickjs"
)

// The limits of an engine that matches patterns.
const (
	patternTimeout = 2 * time.Second // of one match: (a+)+$ tries more ways than there is time for
	patternMemory  = 64 << 20        // bytes
	maxCompiled    = 1000            // patterns that an engine keeps
	maxIdleEngines = 2               // each takes 0.3 MiB
)

// An engine matches regular expressions of JavaScript. They have the flag u if they can be read so.
type engine struct{ vm *quickjs.VM }

// idleEngines are the engines that no check uses. There are none before the first pattern.
var idleEngines = make(chan *engine, maxIdleEngines)

// withEngine calls do with an engine that nobody else uses meanwhile.
func withEngine(do func(e *engine) error) (err error) {
	var e *engine
	select {
	case e = <-idleEngines:
	default:
		if e, err = startEngine(); err != nil {
			return fmt.Errorf("start the engine for patterns: %w", err)
		}
	}
	if err := do(e); err != nil { // what the engine has left behind is unknown
		return errors.Join(err, e.vm.Close())
	}
	select {
	case idleEngines <- e:
		return nil
	default:
		return e.vm.Close()
	}
}

func startEngine() (*engine, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, err
	}
	vm.SetMemoryLimit(patternMemory)
	_, err = vm.Eval(fmt.Sprintf(`
		const compiled = new Map();
		globalThis.compile = pattern => {
			let regex = compiled.get(pattern);
			if (regex) return regex;
			try { regex = new RegExp(pattern, "u") } catch { regex = new RegExp(pattern) }
			if (compiled.size >= %d) compiled.clear();
			compiled.set(pattern, regex);
			return regex;
		};
		globalThis.check = pattern => Boolean(compile(pattern));
		globalThis.match = (pattern, text) => compile(pattern).test(text);
	`, maxCompiled), quickjs.EvalGlobal)
	if err != nil {
		return nil, errors.Join(err, vm.Close())
	}
	return &engine{vm}, nil
}

// checkPattern returns what is wrong with a pattern.
func checkPattern(pattern string) error {
	var wrong error
	err := withEngine(func(e *engine) error {
		_, wrong = e.vm.Call("check", pattern)
		return nil // the engine is as it was
	})
	return errors.Join(err, wrong)
}

// match reports whether a text contains a match of a pattern.
func (s *Schema) match(ctx context.Context, pattern, text string) (matched bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	err = withEngine(func(e *engine) error {
		if err := e.vm.SetEvalTimeout(s.patternTimeout); err != nil {
			return err
		}
		got, err := e.vm.Call("match", pattern, text)
		matched, _ = got.(bool)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("match the pattern %s: %w", pattern, err)
	}
	return matched, nil
}
