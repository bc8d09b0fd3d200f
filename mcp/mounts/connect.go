package mounts

import (
	"context"
	"errors"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/internal/buildinfo"
)

// connect begins a session with a server over a connection. changed is called when the server says that its
// tools have changed; it must not block. A server can make connect block beyond the end of ctx: closing the
// connection ends it.
func connect(ctx context.Context, conn sdk.Connection, changed func()) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "bareclaw", Version: buildinfo.Version()}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{}, // neither sampling, nor roots, nor elicitation
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed() },
	})
	client.AddSendingMiddleware(boundDiscovery)
	return client.Connect(ctx, &openTransport{conn}, nil)
}

// An openTransport is a transport whose connection exists.
type openTransport struct{ conn sdk.Connection }

// Connect implements [sdk.Transport].
func (t *openTransport) Connect(context.Context) (sdk.Connection, error) { return t.conn, nil }

// pipes returns the transport of a server behind pipes, whose messages come by output.
func pipes(p *process, output *messageReader) sdk.Transport {
	return &sdk.IOTransport{
		Reader:        output,
		Writer:        p.input,
		MaxLineLength: maxLine + 1,
	}
}

// discoverTimeout is how long a server may take to answer the first request of the newest protocol. Older
// servers do not know the request, and some do not answer it.
const discoverTimeout = 10 * time.Second

// discoverMethod is the method of the first request of the newest protocol.
const discoverMethod = "server/discover"

// errNoDiscovery makes the SDK begin the session as with older servers.
var errNoDiscovery = errors.New("the server does not answer server/discover")

// boundDiscovery is middleware that no longer waits for an answer to server/discover after discoverTimeout. The
// request stays: a notification that it is cancelled would end the session with servers that expect a handshake first.
func boundDiscovery(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if method != discoverMethod {
			return next(ctx, method, r)
		}
		type answer struct {
			result sdk.Result
			err    error
		}
		answered := make(chan answer, 1)
		go func() { // ends with ctx, at the latest
			var a answer
			a.result, a.err = next(ctx, method, r)
			answered <- a
		}()
		late := time.NewTimer(discoverTimeout)
		defer late.Stop()
		select {
		case a := <-answered:
			return a.result, a.err
		case <-late.C:
			return nil, errNoDiscovery
		}
	}
}
