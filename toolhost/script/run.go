package script

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"modernc.org/quickjs/intl"

	"bareclaw/toolhost/api"
)

// Limits of a run.
const (
	maxLog        = 64 << 10       // bytes
	maxOperations = 16             // that run at once; the shims let others wait
	maxTimer      = 2 * MaxTimeout // a timer cannot outlive its run
)

// A run is the time from a call of an entry of the machine to its outcome. It serves the timers
// and operations of the tool.
type run struct {
	code      *program
	functions api.Functions // nil: none
	log       func(line string)
	turn      *turn // nil: computes whenever it wants

	ctx        context.Context // the engine passes none to operate
	m          *machine
	outcome    *outcome // nil while the run goes on
	logged     int      // bytes
	timers     []timer  // by time
	operations map[int]context.CancelFunc
	ended      chan settlement // of operations
}

// An outcome is how a run ended.
type outcome struct {
	kind  string // "text", "object", "large" or "fail"
	text  string // the result, or the message of an error
	stack string // of an error
}

type timer struct {
	id int
	at time.Time
}

// A settlement is the end of an operation.
type settlement struct {
	id      int
	results []any // strings
	err     error
}

var (
	errEnded       = errors.New("the call of the tool has ended")
	errIdle        = errors.New("the handler's promise can no longer settle: no timer and no call of fetch or fs is left that could settle it")
	errOutOfMemory = errors.New("out of memory")
)

// perform calls an entry of the machine and serves the tool until there is an outcome. An error
// means that the machine must not be used any more.
func (r *run) perform(ctx context.Context, m *machine, entry string, args ...any) (outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errEnded)
	r.ctx, r.m, r.operations, r.ended = ctx, m, map[int]context.CancelFunc{}, make(chan settlement)
	m.run = r
	defer func() { m.run = nil }()
	defer r.interruptAfter(ctx)()

	err := m.call(entry, args...)
	for err == nil {
		if err = m.drain(ctx); err != nil || r.outcome != nil {
			break
		}
		err = r.next()
	}
	if err == nil {
		err = m.call("reset")
	}
	switch {
	case ctx.Err() != nil:
		return outcome{}, context.Cause(ctx)
	case err != nil && strings.Contains(err.Error(), "out of memory"):
		return outcome{}, errOutOfMemory
	case err != nil:
		return outcome{}, err
	case r.code.isOutOfMemory(r.outcome):
		return *r.outcome, errOutOfMemory
	}
	return *r.outcome, nil
}

// interruptAfter stops the code when ctx ends. The engine forgets an interrupt that comes between
// two calls of entries, therefore it is repeated until the returned function is called.
func (r *run) interruptAfter(ctx context.Context) (stop func()) {
	stopped := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		again := time.NewTicker(10 * time.Millisecond)
		defer again.Stop()
		for {
			r.m.vm.Interrupt()
			select {
			case <-stopped:
				return
			case <-again.C:
			}
		}
	})
	return func() {
		unwatch()
		close(stopped)
	}
}

// next waits for a timer or the end of an operation, and tells the machine. Meanwhile another call of the tool may
// compute.
func (r *run) next() error {
	var due <-chan time.Time
	switch {
	case len(r.timers) > 0:
		due = time.After(time.Until(r.timers[0].at))
	case len(r.operations) == 0:
		// Without memory the engine may drop the job that would end the handler.
		if err := r.m.call("probe"); err != nil || r.outcome != nil {
			return err
		}
		return errIdle
	}
	s, ok := r.poll(due)
	if !ok {
		if r.turn != nil && r.m.isSmall() {
			r.turn.pause()
		}
		s = r.await(due)
		if err := r.turn.resume(r.ctx); err != nil {
			return err
		}
	}
	switch {
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case s != nil:
		return r.settle(s)
	}
	id := r.timers[0].id
	r.timers = r.timers[1:]
	return r.m.call("settle", id, nil)
}

// await returns the operation that ends next; nil if a timer is due, or the run is over, before that.
func (r *run) await(due <-chan time.Time) *settlement {
	select {
	case <-r.ctx.Done():
	case <-due:
	case s := <-r.ended:
		return &s
	}
	return nil
}

// poll is await, but does not wait: it reports whether there was something.
func (r *run) poll(due <-chan time.Time) (s *settlement, ok bool) {
	select {
	case <-r.ctx.Done():
	case <-due:
	case s := <-r.ended:
		return &s, true
	default:
		return nil, false
	}
	return nil, true
}

// settle tells the machine of the end of an operation, unless that was cancelled.
func (r *run) settle(s *settlement) error {
	if _, ok := r.operations[s.id]; !ok {
		return nil
	}
	r.cancel(s.id)
	if s.err != nil {
		return r.m.call("settle", s.id, s.err.Error())
	}
	return r.m.call("settle", append([]any{s.id, nil}, s.results...)...)
}

// argumentCounts are the operations that the shims asks for, and how many arguments each has.
var argumentCounts = map[string]int{
	"text": 1, "object": 1, "large": 0, "fail": 2, "log": 1,
	"timer": 2, "cancel": 1, "fetch": 3, "readFile": 2, "writeFile": 3, "listFiles": 2, // the first is the id
	"encode": 2, "decode": 2, "now": 0, "uuid": 0, "random": 1, "digest": 2, "hmac": 3, "intl": 0, "part": 1, "compare": 3, "url": 2, "setURL": 3, "parseQuery": 1, "formatQuery": 1,
}

// arguments are those of an operation. Each may be of another type than it should be, because a tool
// can change the language below the shims.
type arguments []any

// text returns a text; empty if the argument is none.
func (a arguments) text(i int) string {
	s, _ := a[i].(string)
	return s
}

// number returns a whole number; 0 if the argument is none.
func (a arguments) number(i int) int {
	n, _ := a[i].(int)
	return n
}

// operate carries out what the shims asks for. The machine throws an error as a TypeError.
func (r *run) operate(all []any) (any, error) {
	if r == nil {
		return nil, errEnded
	}
	if len(all) == 0 {
		return nil, errors.New("there is no operation")
	}
	name, args := arguments(all).text(0), arguments(all[1:])
	want, ok := argumentCounts[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("there is no operation %q", name)
	case len(args) != want:
		return nil, fmt.Errorf("%s has %d arguments, not %d; the tool has changed the language", name, want, len(args))
	}
	switch name {
	case "text", "object":
		r.end(outcome{kind: name, text: args.text(0)})
	case "large":
		r.end(outcome{kind: name})
	case "fail":
		r.end(outcome{kind: name, text: args.text(0), stack: args.text(1)})
	case "log":
		r.write(args.text(0))
	case "timer":
		r.startTimer(args.number(0), args[1])
	case "cancel":
		r.cancel(args.number(0))
	case "part":
		return nil, r.m.loadPart(args.text(0))
	case "intl":
		return nil, intl.Register(r.m.vm)
	case "fetch", "readFile", "writeFile", "listFiles":
		return nil, r.begin(args.number(0), name, args[1:])
	default:
		return compute(name, args)
	}
	return nil, nil
}

// end notes the outcome; the first one counts.
func (r *run) end(o outcome) {
	if r.outcome == nil {
		r.outcome = &o
	}
}

func (r *run) write(line string) {
	switch r.logged += len(line); {
	case r.logged <= maxLog:
		stack, _, _ := r.code.sourceStack(line)
		r.log(stack)
	case r.logged-len(line) <= maxLog:
		r.log(fmt.Sprintf("more than %d bytes: the rest is left out", maxLog))
	}
}

func (r *run) startTimer(id int, ms any) {
	wait := maxTimer
	switch ms := ms.(type) {
	case int:
		wait = min(wait, time.Duration(ms)*time.Millisecond)
	case float64:
		if ms < float64(maxTimer.Milliseconds()) {
			wait = time.Duration(ms * float64(time.Millisecond))
		}
	}
	t := timer{id, time.Now().Add(wait)}
	i, _ := slices.BinarySearchFunc(r.timers, t, func(a, b timer) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id))
	})
	r.timers = slices.Insert(r.timers, i, t)
}

// cancel ends a timer or an operation, if there is one with that id.
func (r *run) cancel(id int) {
	r.timers = slices.DeleteFunc(r.timers, func(t timer) bool { return t.id == id })
	if end, ok := r.operations[id]; ok {
		end()
		delete(r.operations, id)
	}
}

// begin starts an operation.
func (r *run) begin(id int, name string, args arguments) error {
	switch {
	case r.functions == nil:
		return fmt.Errorf("%s is not granted to the tool", name)
	case len(r.operations) == maxOperations:
		return fmt.Errorf("more than %d calls of fetch and fs run at once; the tool has changed the language", maxOperations)
	}
	ctx, cancel := context.WithCancel(r.ctx)
	r.operations[id] = cancel
	go func() { // ends with the operation, and that with the run
		results, err := caught(func() ([]any, error) { return use(ctx, r.functions, name, args) })
		select {
		case r.ended <- settlement{id, results, err}:
		case <-ctx.Done():
		}
	}()
	return nil
}

// use calls one of the functions.
func use(ctx context.Context, functions api.Functions, name string, args arguments) ([]any, error) {
	first := args.text(0)
	switch name {
	case "readFile":
		data, err := functions.ReadFile(ctx, first)
		return []any{pack(data)}, err
	case "writeFile":
		return nil, functions.WriteFile(ctx, first, unpack(args.text(1)))
	case "listFiles":
		names, err := functions.ListFiles(ctx, first)
		if err != nil {
			return nil, err
		}
		list, err := json.Marshal(append([]string{}, names...)) // never null
		return []any{string(list)}, err
	default:
		return fetch(ctx, functions, first, args.text(1))
	}
}

func fetch(ctx context.Context, functions api.Functions, request, packed string) ([]any, error) {
	var asked struct {
		URL      string            `json:"url"`
		Method   string            `json:"method"`
		Headers  map[string]string `json:"headers"`
		Redirect string            `json:"redirect"`
	}
	if err := json.Unmarshal([]byte(request), &asked); err != nil {
		return nil, err
	}
	r := api.FetchRequest{URL: asked.URL, Method: asked.Method, Header: map[string][]string{}, Body: unpack(packed), Redirect: asked.Redirect}
	for name, value := range asked.Headers {
		r.Header.Set(name, value)
	}
	got, err := functions.Fetch(ctx, r)
	if err != nil {
		return nil, err
	}
	headers := [][2]string{} // never null
	for name, values := range got.Header {
		for _, v := range values {
			headers = append(headers, [2]string{name, v})
		}
	}
	head, err := json.Marshal(map[string]any{"url": got.URL, "status": got.Status, "statusText": got.StatusText, "redirected": got.Redirected, "headers": headers})
	return []any{string(head), pack(got.Body)}, err
}
