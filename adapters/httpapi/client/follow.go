package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"bareclaw/adapters/httpapi/api"
)

// How soon it is tried again when the gateway is away: a restart without a gap is
// over at once, and a service manager takes some seconds to start another process.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = time.Second
)

// A Following is the way of one message to its outcome, over restarts and deaths of
// the gateway: what was accepted there is not lost. It is for one goroutine.
type Following struct {
	Client *Client
	// Patience is how long the gateway may be away before it is given up.
	Patience time.Duration
	// Event is called with each event of the message's stream but its result; may be
	// nil.
	Event func(Event)
	// Away is called when the gateway is not there any more, and is waited for; may be
	// nil.
	Away func(error)

	message string // empty until it is known that it was accepted
	lastID  string
	reached bool      // the gateway has been there
	away    time.Time // since when it is not; zero while it is
}

// Message returns the id of the message, empty as long as it is not known to have
// been accepted.
func (f *Following) Message() string { return f.message }

// Post sends a request that makes a message, POST to path, and returns the message's
// outcome as the gateway tells it. The request is repeated where it is not known
// whether it has arrived: key has to make sure that this makes no second message,
// unless the path does. Post blocks until there is an outcome or ctx ends; the error
// is as of [Client.Do], and [ErrUnreachable] is in it also when Patience was in vain.
func (f *Following) Post(ctx context.Context, path string, body any, key string) (json.RawMessage, error) {
	header := http.Header{}
	if key != "" {
		header.Set(api.HeaderIdempotencyKey, key)
	}
	var outcome json.RawMessage
	take := func(e Event) error {
		if e.ID != "" {
			f.lastID = e.ID
		}
		if e.Kind == api.EventResult {
			outcome = json.RawMessage(e.Data)
			return nil
		}
		f.note(e)
		return nil
	}
	wait := firstRetry
	opened := func() {
		f.reached, f.away = true, time.Time{}
		wait = firstRetry
	}
	for {
		var err error
		if f.message == "" {
			err = f.Client.stream(ctx, http.MethodPost, path, body, header, opened, take)
		} else {
			header := http.Header{}
			if f.lastID != "" {
				header.Set(api.HeaderLastEventID, f.lastID)
			}
			err = f.Client.stream(ctx, http.MethodGet, api.MessagePath(f.message)+"/events", nil, header, opened, take)
		}
		if outcome != nil {
			return outcome, nil
		}
		if err := f.lost(ctx, err); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(wait):
		}
		wait = min(2*wait, lastRetry)
	}
}

// note takes what an event tells besides the outcome.
func (f *Following) note(e Event) {
	if e.Kind == api.EventAccepted {
		var accepted api.Accepted
		if json.Unmarshal([]byte(e.Data), &accepted) == nil {
			f.message = accepted.ID
		}
	}
	if f.Event != nil {
		f.Event(e)
	}
}

// lost decides about the end of a stream that brought no outcome: nil if it is worth
// to go on.
func (f *Following) lost(ctx context.Context, err error) error {
	refused, isRefusal := errors.AsType[*Error](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil: // the gateway has ended the stream, since it restarts or ends
		return nil
	case isRefusal && refused.Code != api.ShuttingDown:
		return err
	case !f.reached && errors.Is(err, ErrUnreachable):
		return err // nothing was sent yet
	}
	f.reached = true // it may have been there, and had no time to say anything
	if f.away.IsZero() {
		f.away = time.Now()
	}
	if time.Since(f.away) > f.Patience {
		return fmt.Errorf("%w any more: %w", ErrUnreachable, err)
	}
	if f.Away != nil {
		f.Away(err)
	}
	return nil
}
