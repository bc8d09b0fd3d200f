package client

import (
	"context"
	"fmt"
	"net/http"

	"bareclaw/adapters/httpapi/api"

	"github.com/tmaxmax/go-sse"
)

// maxEvent bounds an event of a stream, in bytes: an event holds a line of claude's output.
const maxEvent = 64 << 20

// An Event is an event of a stream: its kind, its JSON data, and the id from which a broken
// stream can be resumed.
type Event struct {
	Kind, Data, ID string
}

// Stream sends a request whose reply is a stream of events. It calls opened when the reply
// has begun, and f with each event in turn, until the stream ends, f returns an error, or
// ctx ends. The body in may be nil; lastID is the id of the last event that was received,
// or empty. Stream returns nil at the stream's end.
func (c *Client) Stream(ctx context.Context, method, path string, in any, lastID string, opened func(), f func(Event) error) error {
	header := http.Header{}
	if lastID != "" {
		header.Set(api.HeaderLastEventID, lastID)
	}
	return c.stream(ctx, method, path, in, header, opened, f)
}

// stream is Stream with further headers.
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
