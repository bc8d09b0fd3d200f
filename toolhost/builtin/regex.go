package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
	"modernc.org/quickjs"
)

// The limits of a match. A pattern such as (a+)+$ tries more ways than there is time for.
const (
	regexTimeout = 2 * time.Second
	regexMemory  = 32 << 20 // bytes
)

// regexSlots bounds how many matches run at once, and by that their memory.
var regexSlots = semaphore.NewWeighted(8)

type regexArgs struct {
	Pattern string `json:"pattern" jsonschema:"without slashes"`
	Text    string `json:"text"`
	Flags   string `json:"flags,omitempty" jsonschema:"of d, g, i, m, s, u, v and y"`
}

type regexResult struct {
	HasMatch   bool         `json:"hasMatch"`
	MatchCount int          `json:"matchCount"`
	Matches    []regexMatch `json:"matches" jsonschema:"the first 1000"`
}

type regexMatch struct {
	Match  string         `json:"match"`
	Index  int            `json:"index" jsonschema:"where the match begins, in UTF-16 units as in JavaScript"`
	Groups []any          `json:"groups" jsonschema:"what each group matched; null if it took no part"`
	Named  map[string]any `json:"named,omitempty" jsonschema:"the groups that have names"`
}

// matchAll is the program of a match.
const matchAll = `(pattern, flags, text, most) => {
	const regex = new RegExp(pattern, flags), matches = [], orNull = g => g ?? null;
	let count = 0;
	for (const m of regex.global ? text.matchAll(regex) : [regex.exec(text)]) {
		if (m === null || ++count > most) continue;
		const named = m.groups && Object.fromEntries(Object.entries(m.groups).map(([k, v]) => [k, orNull(v)]));
		matches.push({match: m[0], index: m.index, groups: m.slice(1).map(orNull), named});
	}
	return JSON.stringify({hasMatch: count > 0, matchCount: count, matches});
}`

// testRegex runs in a machine of its own, because what a pattern leaves behind there is unknown
// after it was stopped.
func testRegex(ctx context.Context, in regexArgs) (out regexResult, err error) {
	if err := checkFlags(in.Flags); err != nil {
		return out, err
	}
	if err := regexSlots.Acquire(ctx, 1); err != nil {
		return out, context.Cause(ctx)
	}
	defer regexSlots.Release(1)
	vm, err := quickjs.NewVM()
	if err != nil {
		return out, fmt.Errorf("start the JavaScript engine: %w", err)
	}
	defer func() { err = errors.Join(err, vm.Close()) }()
	vm.SetMemoryLimit(regexMemory)
	if err := vm.SetEvalTimeout(regexTimeout); err != nil {
		return out, err
	}
	defer context.AfterFunc(ctx, vm.Interrupt)()

	result, err := vm.Call("("+matchAll+")", in.Pattern, in.Flags, in.Text, maxListed)
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	if err != nil {
		return out, regexError(err)
	}
	text, _ := result.(string)
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return out, fmt.Errorf("decode the matches: %w", err)
	}
	return out, nil
}

// checkFlags says what the engine would say of wrong flags, but that it is about the flags.
func checkFlags(flags string) error {
	for i, f := range flags {
		if !strings.ContainsRune("dgimsuvy", f) || strings.ContainsRune(flags[:i], f) {
			return fmt.Errorf("flags: %q may have each of d, g, i, m, s, u, v and y once", flags)
		}
	}
	if strings.Contains(flags, "u") && strings.Contains(flags, "v") {
		return fmt.Errorf("flags: %q has u and v, of which only one is possible", flags)
	}
	return nil
}

func regexError(err error) error {
	var js *quickjs.Error
	switch {
	case !errors.As(err, &js):
		return err
	case js.Message == "interrupted":
		return fmt.Errorf("pattern: matching did not end within %s; avoid nested repetitions such as (a+)+", regexTimeout)
	case js.Name == "SyntaxError" && js.Message != "out of memory":
		return fmt.Errorf("pattern: it is not a regular expression: %s", js.Message)
	default:
		return fmt.Errorf("pattern: matching needs more than %d MiB of memory; use a shorter text or fewer groups", regexMemory>>20)
	}
}
