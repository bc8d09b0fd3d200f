package mounts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/internal/buildinfo"
)

// errLogin refuses servers that want a login by a browser.
var errLogin = errors.New("the server wants a login (OAuth), which the gateway does not do: give the server's token in headers, " +
	`as in "Authorization": "Bearer ${TOKEN}"`)

// connect begins a session with a server over a transport. changed is called when the server says that its
// tools have changed; it must not block.
func connect(ctx context.Context, transport sdk.Transport, changed func()) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "bareclaw", Version: buildinfo.Version()}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{}, // neither sampling, nor roots, nor elicitation
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed() },
	})
	return client.Connect(ctx, transport, nil)
}

// pipes returns the transport of a server behind pipes, whose messages come by output.
func pipes(p *process, output *messageReader) sdk.Transport {
	return &sdk.IOTransport{
		Reader:        output,
		Writer:        p.input,
		MaxLineLength: maxLine + 1,
	}
}

// overHTTP returns the transport of a server with a URL.
func overHTTP(s *Server) (sdk.Transport, error) {
	at, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	client := &http.Client{
		Transport: &headerTransport{headers: s.Headers, host: at.Host},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if r.URL.Host != at.Host || len(via) > 3 {
				return fmt.Errorf("the server redirects to %s, which is not its own address", r.URL.Host)
			}
			return nil
		},
	}
	return &sdk.StreamableClientTransport{
		Endpoint:     s.URL,
		HTTPClient:   client,
		MaxEventSize: maxLine,
	}, nil
}

// A headerTransport adds a server's headers to the requests that go to its host.
type headerTransport struct {
	headers map[string]string
	host    string
}

// RoundTrip implements [http.RoundTripper].
func (t *headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == t.host {
		r = r.Clone(r.Context())
		for name, value := range t.headers {
			r.Header.Set(name, value)
		}
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusUnauthorized {
		_ = response.Body.Close()
		return nil, errLogin
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "text/event-stream" { // whose events the SDK bounds
		response.Body = &boundedBody{response.Body, maxLine}
	}
	return response, nil
}

// A boundedBody is a body of which no more than a number of bytes is read.
type boundedBody struct {
	io.ReadCloser

	room int
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.room == 0 {
		return 0, errLongLine
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.room)])
	b.room -= n
	return n, err
}
