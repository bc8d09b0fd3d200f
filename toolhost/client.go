package toolhost

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"bareclaw/internal/plainjson"
	"bareclaw/toolhost/api"
)

// A client speaks with one tool host.
type client struct{ calls, control *http.ClientConn }

// newClient returns a client for the two connections that the tool host serves.
func newClient(calls, control net.Conn) (*client, error) {
	c, err := api.Connect(calls, func() {})
	if err != nil {
		return nil, err
	}
	d, err := api.Connect(control, func() {})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &client{c, d}, nil
}

// close ends the requests under way.
func (c *client) close() {
	if c == nil {
		return
	}
	_ = c.calls.Close()
	_ = c.control.Close()
}

// maxAnswer bounds an answer of the tool host, in bytes.
const maxAnswer = 32 << 20

// errNoAnswer means that the tool host has ended, or does not do what it was asked for.
var errNoAnswer = errors.New("the tool host does not answer")

// ask sends a request over a connection, and decodes the answer into out unless the answer says
// that nothing is new. It returns the header of the answer. The error is errNoAnswer, the cause
// of ctx, or what is wrong with the request or the answer.
func ask(ctx context.Context, over *http.ClientConn, method, path string, header http.Header, in, out any) (said http.Header, err error) {
	var body io.Reader
	if in != nil {
		b, err := plainjson.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, api.Origin+path, body)
	if err != nil {
		return nil, err
	}
	if header != nil {
		r.Header = header
	}
	answer, err := over.RoundTrip(r)
	if err != nil {
		return nil, noAnswer(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return nil, noAnswer(ctx, err)
	}
	switch {
	case len(b) > maxAnswer:
		err = fmt.Errorf("it has more than %d bytes", maxAnswer)
	case answer.StatusCode == http.StatusOK:
		err = json.Unmarshal(b, out)
	case answer.StatusCode == http.StatusNotModified:
	default:
		var refused api.Done
		_ = json.Unmarshal(b, &refused) // then the status says all
		err = errors.New(cmp.Or(refused.Error, answer.Status))
	}
	if err != nil {
		return nil, fmt.Errorf("the tool host's answer to %s: %w", path, err)
	}
	return answer.Header, nil
}

func noAnswer(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", errNoAnswer, err)
}

func (c *client) health(ctx context.Context) (h api.Health, err error) {
	_, err = ask(ctx, c.control, http.MethodGet, api.PathHealth, nil, nil, &h)
	return h, err
}

// A list is what a tool host offers.
type list struct {
	tools   []api.Tool
	version string
	partial bool // files are left to be loaded
}

// list returns the tools.
func (c *client) list(ctx context.Context) (l list, err error) {
	said, err := ask(ctx, c.control, http.MethodGet, api.PathTools, nil, nil, &l.tools)
	if err != nil {
		return list{}, err
	}
	l.version, l.partial = said.Get("ETag"), said.Get(api.HeaderLoading) != ""
	return l, nil
}

// awaitOther waits for another list than that of a version, for some time, and reports whether
// there is one.
func (c *client) awaitOther(ctx context.Context, version string) (bool, error) {
	header := http.Header{"If-None-Match": {version}, "Prefer": {"wait=30"}}
	said, err := ask(ctx, c.control, http.MethodGet, api.PathTools, header, nil, new([]api.Tool))
	return err == nil && said.Get("ETag") != "", err
}

// call calls a tool.
func (c *client) call(ctx context.Context, name string, args json.RawMessage) (r api.CallReply, err error) {
	if _, err := ask(ctx, c.calls, http.MethodPost, api.PathCall, nil, api.CallRequest{Tool: name, Args: args}, &r); err != nil {
		return api.CallReply{}, err
	}
	if len(r.Content) == 0 {
		return api.CallReply{}, errors.New("the tool host's answer has no content")
	}
	return r, nil
}

// reload has the tool host read the tools directory.
func (c *client) reload(ctx context.Context) (r api.Reloaded, err error) {
	_, err = ask(ctx, c.control, http.MethodPost, api.PathReload, nil, nil, &r)
	return r, err
}

// shutdown tells the tool host to end.
func (c *client) shutdown(ctx context.Context) error {
	_, err := ask(ctx, c.control, http.MethodPost, api.PathShutdown, nil, nil, new(api.Done))
	return err
}
