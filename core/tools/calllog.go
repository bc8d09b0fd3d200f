package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"bareclaw/core"
)

const (
	// recordOwner owns the records of calls.
	recordOwner = "tools"
	// beginWithin is how long after its request a call may begin. Later the agent may have
	// given up, and what was asked for may be wrong.
	beginWithin = 30 * time.Second
	// recordsKept is longer than a session host may wait for the next process, and longer than a
	// turn that was cut can be continued.
	recordsKept = 72 * time.Hour
	// pruneEvery is the least time between two removals of old records.
	pruneEvery = time.Hour
	// maxRecorded bounds a recorded result, in bytes of JSON.
	maxRecorded = 64 << 10
	// recordTimeout bounds the writing of an outcome after the end of the caller's context.
	recordTimeout = 5 * time.Second
)

// A RecordStore keeps what became of calls.
type RecordStore interface {
	// Record returns one record, or core.ErrNotFound.
	Record(ctx context.Context, owner, key string) (core.Record, error)
	// Records returns the owner's records whose key begins with prefix, by key.
	Records(ctx context.Context, owner, prefix string) ([]core.Record, error)
	// PutRecords sets the times of records, and returns once the records are durable.
	PutRecords(ctx context.Context, rs ...*core.Record) error
	// ForgetRecords removes records by age.
	ForgetRecords(ctx context.Context, rs ...core.RecordRange) error
}

// A callLog carries out each call of a session at most once, however often processes of the
// gateway end meanwhile: a call is on record before it begins, and again with its result.
// Calls without a session or an id, and calls of tools that change nothing, are not recorded.
// A nil callLog records nothing.
type callLog struct {
	records RecordStore
	log     *slog.Logger

	mu     sync.Mutex
	pruned time.Time // when old records were last removed
}

// A callRecord is the document of a record, whose key is that of the call.
type callRecord struct {
	Tool    string      `json:"tool"`
	Turn    core.TurnID `json:"turn,omitempty"`
	BegunAt time.Time   `json:"begun_at"`
	// Args are the arguments if a person has changed those of the agent.
	Args   json.RawMessage `json:"args,omitempty"`
	Result *Result         `json:"result,omitempty"` // nil until the call has ended
	Waits  bool            `json:"waits,omitempty"`  // the call had not begun when the gateway ended
}

// once returns the result of run, or the recorded result of an earlier run. An error of run
// leaves the outcome unknown.
func (l *callLog) once(ctx context.Context, t *Tool, c Call, run func(Call) (Result, error)) (Result, error) {
	key := c.Key()
	if l == nil || key == "" || t.Annotations.ReadOnly || t.Name == CallName { // whose calls are recorded as those of the other tool
		return run(c)
	}
	known, err := l.read(ctx, key)
	if err == nil && known.Waits {
		err = core.ErrNotFound
	}
	switch {
	case errors.Is(err, core.ErrNotFound):
		if late := time.Since(c.At); !c.At.IsZero() && late > beginWithin {
			return unbegun("%s was not carried out, and nothing has been done: the gateway did not run for %s after the call. Call it again if it is still wanted.",
				t.Name, late.Round(time.Second)), nil
		}
		known = callRecord{Tool: t.Name, Turn: c.Turn, BegunAt: time.Now()}
		if c.amended {
			known.Args = c.Args
		}
		if err = l.write(ctx, key, known); err == nil {
			l.prune(ctx)
		}
	case err != nil:
	case known.Result != nil:
		return *known.Result, nil
	case !t.Annotations.Idempotent && !t.Keyed:
		return outcomeUnknown(t), nil
	default:
		c.Repeated = true
		if known.Args != nil {
			c.Args = known.Args
		}
	}
	switch {
	case errors.Is(err, core.ErrClosed): // the next process carries out the call
		return Result{}, err
	case ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case err != nil:
		return unbegun("%s was not carried out, and nothing has been done, because the call cannot be recorded: %s. Call it again when that is mended.", t.Name, err), nil
	}
	result, err := run(c)
	if err != nil && !errors.Is(err, ErrNotBegun) {
		return Result{}, err
	}
	lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err != nil {
		known.Waits = true
		_ = l.write(lasting, key, known) // else the next process says that the outcome is unknown
		return Result{}, err
	}
	known.Result = &result
	if err := l.write(lasting, key, known); err != nil {
		l.log.Error("result of a tool not recorded", "tool", t.Name, "channel", string(c.Channel), "err", err)
	}
	return result, nil
}

// outcomeUnknown returns the result of a call that a process of before has begun.
func outcomeUnknown(t *Tool) Result {
	r := failed("outcome unknown: %s had begun when the gateway ended, and may have taken effect in part or in full. "+
		"Look at what has taken effect before you call it again.", t.Name)
	r.Outcome = Unknown
	return r
}

// hasBegun reports whether the call is on record: an earlier process has begun it.
func (l *callLog) hasBegun(ctx context.Context, c *Call) bool {
	key := c.Key()
	if l == nil || key == "" {
		return false
	}
	known, err := l.read(ctx, key)
	return err == nil && !known.Waits
}

func (l *callLog) read(ctx context.Context, key string) (r callRecord, err error) {
	doc, err := l.records.Record(ctx, recordOwner, key)
	if err == nil {
		err = json.Unmarshal(doc.Doc, &r)
	}
	return r, err
}

func (l *callLog) write(ctx context.Context, key string, r callRecord) error {
	doc, err := json.Marshal(r)
	if err == nil && len(doc) > maxRecorded {
		r.Result = &Result{Text: "The call has ended. Its result was too large to be kept over the restart of the gateway.", IsError: r.Result.IsError}
		doc, err = json.Marshal(r)
	}
	if err != nil {
		return fmt.Errorf("encode the record of a call: %w", err)
	}
	return l.records.PutRecords(ctx, &core.Record{Owner: recordOwner, Key: key, Doc: doc})
}

// prune removes old records, now and then.
func (l *callLog) prune(ctx context.Context) {
	now := time.Now()
	l.mu.Lock()
	due := now.Sub(l.pruned) >= pruneEvery
	if due {
		l.pruned = now
	}
	l.mu.Unlock()
	if !due {
		return
	}
	if err := l.records.ForgetRecords(ctx, core.RecordRange{Owner: recordOwner, Before: now.Add(-recordsKept)}); err != nil {
		l.log.Warn("old records of calls not removed", "err", err)
	}
}

// ofTurn returns what became of the recorded calls of a turn, in the order of their begin.
func (l *callLog) ofTurn(ctx context.Context, session string, turn core.TurnID) ([]core.ToolCall, error) {
	if l == nil || session == "" || turn == "" {
		return nil, nil
	}
	all, err := l.records.Records(ctx, recordOwner, session+"/")
	if err != nil {
		return nil, err
	}
	var calls []core.ToolCall
	for _, doc := range all {
		var r callRecord
		if json.Unmarshal(doc.Doc, &r) != nil || r.Turn != turn || r.Waits { // what cannot be read is of another program
			continue
		}
		c := core.ToolCall{Tool: r.Tool, BegunAt: r.BegunAt, Outcome: core.ToolUnknown}
		switch {
		case r.Result == nil:
		case r.Result.IsError:
			c.Outcome = core.ToolFailed
		default:
			c.Outcome = core.ToolDone
		}
		calls = append(calls, c)
	}
	slices.SortStableFunc(calls, func(a, b core.ToolCall) int { return a.BegunAt.Compare(b.BegunAt) })
	return calls, nil
}
