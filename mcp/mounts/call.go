package mounts

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/core"
	"bareclaw/core/tools"
)

// errEnded leaves a call to the next process of the gateway.
var errEnded = fmt.Errorf("the mounted servers have ended with the gateway: %w", core.ErrClosed)

// A sessionError says that the session with a server has failed during a call.
type sessionError struct {
	server string
	again  bool // the call was carried out a second time
	cause  error
}

// Error says what is known of the call.
func (e *sessionError) Error() string {
	if e.again {
		return fmt.Sprintf("the session with the mounted server %s has failed twice during the call: %s", e.server, e.cause)
	}
	return fmt.Sprintf("the session with the mounted server %s has failed during the call, and whether it was carried out is not known: look before calling again. %s",
		e.server, e.cause)
}

// Unwrap returns how the session has failed.
func (e *sessionError) Unwrap() error { return e.cause }

// A changedError says that a call is not carried out, because the tool is not what the caller knows.
type changedError struct{ tool string }

// Error says what to do.
func (e *changedError) Error() string {
	return fmt.Sprintf("the mounted server has changed its tool %s just now, and nothing was done: look at the tool again with %s, and call it again", e.tool, tools.SearchName)
}

// call has the server carry out a call of a tool, as it was listed, for a channel. A call that may run again is
// repeated once if the server ends meanwhile.
func (m *mount) call(ctx context.Context, channel core.ChannelKey, t *tools.Tool, args json.RawMessage) (*sdk.CallToolResult, error) {
	mayRunAgain := t.Annotations.ReadOnly || t.Annotations.Idempotent
	for again := false; ; again = true {
		i, err := m.pool.acquire(ctx, m.keyOf(channel))
		if err != nil {
			return nil, err
		}
		if known := m.listing(); !known.has(t) { // the server may have listed its tools anew since the call was allowed
			m.pool.release(i, works)
			return nil, &changedError{m.server.NameOf(t.Name)}
		}
		result, state, err := m.callOnce(ctx, i, t.Name, args)
		m.pool.release(i, state)
		switch {
		case err == nil:
			return result, nil
		case m.room.life.isOver():
			return nil, errEnded
		case state != broken:
			return nil, err
		case isNotCarriedOut(err) && again:
			return nil, fmt.Errorf("the mounted server %s cannot be reached, and the call was not carried out: %w", m.server.Name, err)
		case isNotCarriedOut(err):
		case again || !mayRunAgain:
			return nil, &sessionError{m.server.Name, again, err}
		}
	}
}

// callOnce has an instance carry out a call within its time, and says how the instance does.
func (m *mount) callOnce(ctx context.Context, i *instance, name string, args json.RawMessage) (*sdk.CallToolResult, condition, error) {
	limit := m.server.CallTimeout()
	late := fmt.Errorf("%s did not answer within %s", m.server.Name, limit)
	bounded, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	result, err := i.link.call(bounded, name, args)
	switch {
	case err == nil:
		return result, works, nil
	case ctx.Err() != nil:
		return nil, works, context.Cause(ctx)
	case bounded.Err() != nil:
		return nil, silent, late
	case isAnswer(err):
		return nil, works, fmt.Errorf("%s: %w", m.server.Name, err)
	}
	return nil, broken, i.link.explain(ctx, err)
}

// keyOf returns whose instance a channel uses.
func (m *mount) keyOf(channel core.ChannelKey) core.ChannelKey {
	if m.server.Scope == PerCaller {
		return channel
	}
	return ""
}
