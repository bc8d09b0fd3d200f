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
	"os"
	"path/filepath"
	"strings"

	"github.com/tmaxmax/go-sse"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core/config"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
)

// maxReply bounds a reply that is read as a whole, in bytes.
const maxReply = 64 << 20

// ErrUnreachable is in the error of a request that reached no gateway.
var ErrUnreachable = errors.New("the gateway cannot be reached")

// An Error is a refusal by the gateway.
type Error struct {
	Status int    // of HTTP
	Code   string // of package api
	RPC    int    // the code of JSON-RPC; 0: none
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

	// direct returns the client that repeats what the Unix socket refuses; nil if the refusal
	// counts.
	direct func() *Client
}

// OverSocket returns a client for the gateway's Unix socket, which needs no token and
// refuses what widens permissions. Nothing is sent to another user's socket.
func OverSocket(path string) *Client {
	where := "at the socket " + path
	return over(unixDialer(path), "localhost", "", where)
}

// OverTCP returns a client for the address, HOST:PORT, of a gateway that runs. An empty token is
// not sent, and nothing is sent to another user's program.
func OverTCP(address, token string) *Client { return trust{live: true}.client(address, token) }

func over(dial dialer, host, token, where string) *Client {
	return &Client{http: &http.Client{Transport: &http.Transport{DialContext: dial}}, base: "http://" + host, token: token, where: where}
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
	res, err := c.send(ctx, method, path, header, in)
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
func (c *Client) send(ctx context.Context, method, path string, header http.Header, in any) (*http.Response, error) {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, fmt.Errorf("make the request %s %s: %w", method, path, err)
		}
	}
	res, err := c.ask(ctx, method, path, header, body, false)
	if err == nil && res.StatusCode >= http.StatusBadRequest {
		defer func() { _ = res.Body.Close() }()
		return nil, refusal(res)
	}
	return res, err
}

// Pass sends a request on a connection of its own, with a body of JSON as it is, and returns the
// reply whatever its status, whose body the caller closes. A connection of its own is never that
// of a gateway that has ended meanwhile. The error holds [ErrUnreachable] if nothing was sent.
func (c *Client) Pass(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Response, error) {
	return c.ask(ctx, method, path, header, body, true)
}

// ask sends a request, alone on its connection if so wanted, and returns the reply. What the Unix
// socket refuses because claude can reach it, a command of the user asks again over TCP: a
// refused request has had no effect.
func (c *Client) ask(ctx context.Context, method, path string, header http.Header, body []byte, alone bool) (*http.Response, error) {
	req, err := c.request(ctx, method, path, header, body)
	if err != nil {
		return nil, err
	}
	req.Close = alone
	res, err := c.do(req)
	if err != nil || c.direct == nil || !notOnSocket(res) {
		return res, err
	}
	_ = res.Body.Close()
	return c.direct().ask(ctx, method, path, header, body, true)
}

// notOnSocket reports whether a reply refuses what only the TCP address serves. The reply can be
// read as before.
func notOnSocket(res *http.Response) bool {
	if res.StatusCode != http.StatusForbidden {
		return false
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal)) // an incomplete body is better than none
	res.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(body), res.Body}
	var said api.Error
	return json.Unmarshal(body, &said) == nil && said.Code == api.NotOnSocket
}

// request makes a request; a nil body is none.
func (c *Client) request(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make the request %s %s: %w", method, path, err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return req, nil
}

func (c *Client) do(req *http.Request) (*http.Response, error) {
	res, err := c.http.Do(req)
	distrusted, isDistrusted := errors.AsType[*distrustError](err)
	switch ctx := req.Context(); {
	case isDistrusted:
		return nil, distrusted
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("ask the gateway %s: %w", c.where, context.Cause(ctx))
	case notThere(err) != nil:
		return nil, fmt.Errorf("%w %s: %w", ErrUnreachable, c.where, notThere(err))
	case err != nil:
		return nil, fmt.Errorf("ask the gateway %s: %w", c.where, err)
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

// maxRefusal bounds the body of a refusal, in bytes.
const maxRefusal = 64 << 10

func refusal(res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal)) // an incomplete body is better than none
	var said api.Error
	var rpc rpcError
	switch {
	case json.Unmarshal(body, &said) == nil && said.Error != "":
	case json.Unmarshal(body, &rpc) == nil && rpc.Error.Message != "":
		said.Error = rpc.Error.Message
	default:
		said.Error = "The gateway answered " + res.Status + "."
		if text := strings.TrimSpace(string(body)); text != "" && len(text) < 500 {
			said.Error += " " + text
		}
	}
	return &Error{Status: res.StatusCode, Code: said.Code, Text: said.Error}
}

// maxEvent bounds an event of a stream, in bytes: an event holds a line of claude's output.
const maxEvent = 64 << 20

// An Event is an event of a stream: its kind, its JSON data, and the id from which a broken
// stream can be resumed.
type Event struct {
	Kind, Data, ID string
}

// Stream sends a request with further headers whose reply is a stream of events. It calls
// opened when the reply has begun, and f with each event in turn, until the stream ends, f
// returns an error, or ctx ends. The body in may be nil. Stream adds to the headers; a
// stream is resumed with [api.HeaderLastEventID]. Stream returns nil at the stream's end.
func (c *Client) Stream(ctx context.Context, method, path string, header http.Header, in any, opened func(), f func(Event) error) error {
	header.Set("Accept", "text/event-stream")
	res, err := c.send(ctx, method, path, header, in)
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

// SocketVariable is the environment variable with the gateway's Unix socket for claude and
// its commands, which do not know the gateway's configuration.
const SocketVariable = "BARECLAW_SOCKET"

// Inherited returns a client of the gateway in whose session this process runs, or nil.
func Inherited() *Client {
	if path := os.Getenv(SocketVariable); filepath.IsAbs(path) {
		return OverSocket(path)
	}
	return nil
}

// Socket returns the path of the Unix socket of a gateway with the configuration.
func Socket(cfg config.Config) string { return filepath.Join(cfg.RuntimeDir(), "api.sock") }

// Local returns a client of the gateway with the configuration, over its socket. What the socket
// refuses is asked again as [Direct] does, outside of claude's sessions.
func Local(cfg config.Config) *Client {
	c := OverSocket(Socket(cfg))
	if Inherited() == nil {
		c.direct = func() *Client { return Direct(cfg) }
	}
	return c
}

// Direct returns a client of the gateway with the configuration over TCP, where approvals
// can be decided. The address is that of the running daemon, or else the configured one.
func Direct(cfg config.Config) *Client {
	h, err := lockfile.ReadHolder(filepath.Join(cfg.StateDir(), lockfile.StateLockName))
	if err == nil && h.Address != "" && proc.Alive(h.PID, h.Start) {
		return At(cfg, h.Address, true, "BARECLAW_STATE_DIR")
	}
	return At(cfg, cfg.HTTP.Address(), false, "BARECLAW_STATE_DIR", "BARECLAW_HOST", "BARECLAW_PORT")
}

// At returns a client for an address, HOST:PORT, with the token of the configuration, unless the
// named variables, which decide the address, come from another file than the token. If live, a
// gateway that runs is known to listen there.
func At(cfg config.Config, address string, live bool, names ...string) *Client {
	return trust{live: live, stateDir: cfg.StateDir(), refusal: cfg.CheckTokenTarget(names...)}.client(address, cfg.HTTP.Token.Reveal())
}
