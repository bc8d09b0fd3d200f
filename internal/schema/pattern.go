package schema

import (
	"context"
	"errors"
	"fmt"
	"time"

	"modernc.org/quickjs"
)

// The limits of the engine that matches patterns.
const (
	patternTimeout = 2 * time.Second // of one match: (a+)+$ tries more ways than there is time for
	patternMemory  = 64 << 20        // bytes
)

// patterns are regular expressions of JavaScript, in an engine that is started when the first is
// compiled. They have the flag u if they can be read so.
type patterns struct{ vm *quickjs.VM }

func (ps *patterns) compile(pattern string) error {
	if ps.vm == nil {
		if err := ps.start(); err != nil {
			return fmt.Errorf("start the engine for patterns: %w", err)
		}
	}
	_, err := ps.vm.Call("compile", pattern)
	return err
}

func (ps *patterns) start() error {
	vm, err := quickjs.NewVM()
	if err != nil {
		return err
	}
	ps.vm = vm
	vm.SetMemoryLimit(patternMemory)
	_, err = vm.Eval(`
		const compiled = new Map();
		globalThis.compile = pattern => {
			let regex;
			try { regex = new RegExp(pattern, "u") } catch { regex = new RegExp(pattern) }
			compiled.set(pattern, regex);
			return true;
		};
		globalThis.match = (pattern, text) => compiled.get(pattern).test(text);
	`, quickjs.EvalGlobal)
	return errors.Join(err, vm.SetEvalTimeout(patternTimeout))
}

// match reports whether a text contains a match of a compiled pattern.
func (ps *patterns) match(ctx context.Context, pattern, text string) (bool, error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	got, err := ps.vm.Call("match", pattern, text)
	if err != nil {
		return false, fmt.Errorf("match the pattern %s: %w", pattern, err)
	}
	matched, _ := got.(bool)
	return matched, nil
}

func (ps *patterns) close() error {
	if ps.vm == nil {
		return nil
	}
	return ps.vm.Close()
}
