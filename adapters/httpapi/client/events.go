package client

import (
	"context"
	"fmt"
	"net/http"

	"bareclaw/adapters/httpapi/api"

	"github.com/tmaxmax/go-sse"
)

// maxEvent bounds one event of a stream, in bytes: an event carries what claude said
// in one line.
const maxEvent = 64 << 20

// An Event is one of a stream: its kind, its JSON data, and its id, with which a
// stream that broke off goes on.
type Event struct {
	Kind, Data, ID string
}

// Stream sends a request that is answered by a stream of events. It calls opened when
// the answer has begun, and f with each event in turn, until the stream ends, f
// returns an error, or ctx ends. in is the JSON
// body unless it is nil, lastID that of the last event that was seen, or empty. It
// returns nil at the stream's end.
func (c *Client) Stream(ctx context.Context, method, path string, in any, lastID string, opened func(), f func(Event) error) error {
	header := http.Header{}
	if lastID != "" {
		header.Set(api.HeaderLastEventID, lastID)
	}
	return c.stream(ctx, method, path, in, header, opened, f)
}

// stream is Stream with headers of the caller's. opened is called when the answer has
// begun.
func (c *Client) stream(ctx context.Context, method, path string, in any, header http.Header, opened func(), f func(Event) error) error {
	header.Set("Accept", "text/event-stream")
	res, err := c.send(ctx, method, path, in, header)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	opened()
	for e, err := range sse.Read(res.Body, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if err != nil {
			return fmt.Errorf("read the stream %s %s: %w", method, path, err)
		}
		if err := f(Event{Kind: e.Type, Data: e.Data, ID: e.LastEventID}); err != nil {
			return err
		}
	}
	return nil
}
