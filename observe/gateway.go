package observe

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
)

// A Gateway takes what an observer has to tell. Both methods block until the gateway has answered or
// ctx ends; the same key twice is one message. A *RefusedError says that trying again cannot help.
type Gateway interface {
	// Push tells the people of a channel.
	Push(ctx context.Context, key, channel, text string) error
	// Ask has the agent of a channel do something, which costs money.
	Ask(ctx context.Context, key, channel, text string) error
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
	return g.post(ctx, api.PathSend, key, nil, api.SendRequest{Channel: channel, Text: text})
}

// Ask implements [Gateway].
func (g clientGateway) Ask(ctx context.Context, key, channel, text string) error {
	async := http.Header{"Prefer": {"respond-async"}}
	return g.post(ctx, api.PathMessage, key, async, api.MessageRequest{Channel: channel, Text: text})
}

func (g clientGateway) post(ctx context.Context, path, key string, header http.Header, body any) error {
	header = header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set(api.HeaderIdempotencyKey, key)
	err := g.client.DoWith(ctx, http.MethodPost, path, header, body, nil)
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
