package observe

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
)

// A Gateway takes what an observer has to tell. All methods block until the gateway has answered or
// ctx ends; the same key twice is one message. A *RefusedError says that trying again cannot help.
type Gateway interface {
	// Push tells the people of a channel. After an error the same push can be tried again under its key. There is no error
	// if people may have been told a part: that is not told again.
	Push(ctx context.Context, key, channel, text string) error
	// Ask has the agent of a channel do something, which costs money, and returns the id of the message.
	Ask(ctx context.Context, key, channel, text string) (message string, err error)
	// HasEnded reports whether the agent is done with a message. One that the gateway does not know is.
	HasEnded(ctx context.Context, message string) (bool, error)
}

// A RefusedError is the error of what a gateway will never take.
type RefusedError struct{ cause error }

// Error implements error.
func (e *RefusedError) Error() string { return e.cause.Error() }

// Unwrap returns what the gateway has said.
func (e *RefusedError) Unwrap() error { return e.cause }

// A clientGateway is a gateway behind its API.
type clientGateway struct{ client *client.Client }

// NewGateway returns the gateway that a client reaches.
func NewGateway(c *client.Client) Gateway { return clientGateway{c} }

// Push implements [Gateway].
func (g clientGateway) Push(ctx context.Context, key, channel, text string) error {
	err := g.post(ctx, api.PathSend, key, nil, api.SendRequest{Channel: channel, Text: text}, nil)
	refused, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok:
		return err
	case refused.Code == api.IdempotencyMismatch:
		return nil // people were told, in the words of another version or on another channel
	case refused.Code == api.DeliveryUnconfirmed:
		return nil // people were told, or a part of it, and the gateway sends the rest if it can
	}
	return err
}

// Ask implements [Gateway].
func (g clientGateway) Ask(ctx context.Context, key, channel, text string) (string, error) {
	async := http.Header{"Prefer": {"respond-async"}}
	var accepted api.Accepted
	err := g.post(ctx, api.PathMessage, key, async, api.MessageRequest{Channel: channel, Text: text}, &accepted)
	return accepted.ID, err
}

// HasEnded implements [Gateway].
func (g clientGateway) HasEnded(ctx context.Context, message string) (bool, error) {
	var m api.Accepted
	err := g.client.Do(ctx, http.MethodGet, api.MessagePath(message), nil, &m)
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Status == http.StatusNotFound {
		return true, nil
	}
	return err == nil && m.Final(), err
}

func (g clientGateway) post(ctx context.Context, path, key string, header http.Header, body, out any) error {
	header = header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set(api.HeaderIdempotencyKey, key)
	err := g.client.DoWith(ctx, http.MethodPost, path, header, body, out)
	if refused, ok := errors.AsType[*client.Error](err); ok && isFinal(refused.Status) {
		return &RefusedError{fmt.Errorf("the gateway refuses this: %w", err)}
	}
	return err
}

// isFinal reports whether a gateway with other settings would refuse the same too: a text that cannot be sent, or a key
// that was used for another text.
func isFinal(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnprocessableEntity
}
