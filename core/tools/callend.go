package tools

import (
	"context"
	"log/slog"
	"time"

	"bareclaw/core"
)

// An Outcome is how a call has ended.
type Outcome string

// The outcomes.
const (
	Succeeded Outcome = "ok"
	Failed    Outcome = "failed"    // the result is an error, of the tool or of the arguments
	Cancelled Outcome = "cancelled" // nobody waited for the result any more
)

func outcomeOf(r Result, err error) Outcome {
	switch {
	case err != nil:
		return Cancelled
	case r.IsError:
		return Failed
	}
	return Succeeded
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
