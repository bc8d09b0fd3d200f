package tools

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"bareclaw/core"
)

// An Outcome is how a call has ended.
type Outcome string

// The outcomes.
const (
	Succeeded Outcome = "ok"
	Failed    Outcome = "failed"    // the tool has failed
	Unbegun   Outcome = "not_begun" // the call was refused, or could not begin: nothing has been done
	Unknown   Outcome = "unknown"   // an earlier process had begun the call: it may have taken effect in part or in full
	Cancelled Outcome = "cancelled" // nobody waited for the result any more
)

// outcomeOf returns the outcome of a call by what it has returned.
func outcomeOf(r *Result, err error) Outcome {
	switch {
	case err != nil:
		return Cancelled
	case r.Outcome != "":
		return r.Outcome
	case r.IsError:
		return Failed
	}
	return Succeeded
}

// failed returns the result of a call that has failed.
func failed(format string, args ...any) Result {
	return Result{
		Text:    fmt.Sprintf(format, args...),
		IsError: true,
		Outcome: Failed,
	}
}

// unbegun returns the result of a call that has not begun, and never will.
func unbegun(format string, args ...any) Result {
	r := failed(format, args...)
	r.Outcome = Unbegun
	return r
}

// A CallEnd describes a call that has ended.
type CallEnd struct {
	Source  string
	Mount   string // as in [Tool]
	Outcome Outcome
	Took    time.Duration
}

// end logs the end of a call, and tells of it.
func (r *Registry) end(t *Tool, channel core.ChannelKey, took time.Duration, o Outcome) {
	attrs := []slog.Attr{
		slog.String("tool", t.Name),
		slog.String("source", t.Source),
	}
	if t.Mount != "" {
		attrs = append(attrs, slog.String("mount", t.Mount))
	}
	attrs = append(attrs,
		slog.String("channel", string(channel)),
		slog.Duration("took", took),
		slog.String("outcome", string(o)),
	)
	r.log.LogAttrs(context.Background(), slog.LevelInfo, "tool called", attrs...)
	if r.ended != nil {
		r.ended(CallEnd{t.Source, t.Mount, o, took})
	}
}
