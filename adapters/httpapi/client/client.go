// Package client sends requests to a running gateway over its HTTP API, for the command
// line and the heartbeat. Package api has the requests and replies.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"bareclaw/adapters/httpapi/api"
)

// maxReply bounds a reply that is read as a whole, in bytes.
const maxReply = 64 << 20

// ErrUnreachable is in the error of a request that reached no gateway.
var ErrUnreachable = errors.New("the gateway cannot be reached")

// An Error is a refusal by the gateway.
type Error struct {
	Status int    // of HTTP
	Code   string // of package api
	Text   string // for a person
}

// Error returns the text for a person.
func (e *Error) Error() string { return e.Text }

// A Client sends requests to one gateway. All methods are safe for concurrent use.
type Client struct {
	http  *http.Client
	base  string
	token string
	where string
}

// OverSocket returns a client for the gateway's Unix socket, which needs no token and
// refuses to decide approvals.
func OverSocket(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	return &Client{
		http: &http.Client{Transport: &http.Transport{DialContext: dial}}, base: "http://localhost", where: "at the socket " + path,
	}
}

// OverTCP returns a client for an address, HOST:PORT. An empty token is not sent.
func OverTCP(address, token string) *Client {
	return &Client{http: &http.Client{Transport: &http.Transport{}}, base: "http://" + address, token: token, where: "at " + address}
}

// Where names the gateway's socket or address for a person.
func (c *Client) Where() string { return c.where }

// Do sends a request with in as its JSON body, and decodes the reply into out; both may be
// nil. Do blocks until the reply has been read or ctx ends. The error is an [*Error] for a
// refusal, and holds [ErrUnreachable] without a gateway.
func (c *Client) Do(ctx context.Context, method, path string, in, out any) error {
	return c.DoWith(ctx, method, path, nil, in, out)
}

// DoWith is Do for a request with further headers.
func (c *Client) DoWith(ctx context.Context, method, path string, header http.Header, in, out any) error {
	res, err := c.send(ctx, method, path, in, header)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	if err != nil {
		return fmt.Errorf("read the gateway's reply to %s %s: %w", method, path, err)
	}
	if raw, ok := out.(*json.RawMessage); ok {
		*raw = body
		return nil
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("understand the gateway's reply to %s %s: %w", method, path, err)
	}
	return nil
}

// send sends a request and returns the reply, whose body the caller closes. A status of 400
// or more is an [*Error].
func (c *Client) send(ctx context.Context, method, path string, in any, header http.Header) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("make the request %s %s: %w", method, path, err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("make the request %s %s: %w", method, path, err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("ask the gateway %s: %w", c.where, context.Cause(ctx))
	case notThere(err) != nil:
		return nil, fmt.Errorf("%w %s: %w", ErrUnreachable, c.where, notThere(err))
	case err != nil:
		return nil, fmt.Errorf("ask the gateway %s: %w", c.where, err)
	case res.StatusCode >= http.StatusBadRequest:
		defer func() { _ = res.Body.Close() }()
		return nil, refusal(res)
	}
	return res, nil
}

// notThere returns why a request reached no gateway, without the address; nil if the request
// reached one.
func notThere(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return op.Err
	}
	return nil
}

// refusal returns the error of a reply of 400 or more.
func refusal(res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // an incomplete body is better than none
	var said api.Error
	if json.Unmarshal(body, &said) != nil || said.Error == "" {
		said.Error = "The gateway answered " + res.Status + "."
		if text := strings.TrimSpace(string(body)); text != "" && len(text) < 500 {
			said.Error += " " + text
		}
	}
	return &Error{Status: res.StatusCode, Code: said.Code, Text: said.Error}
}
