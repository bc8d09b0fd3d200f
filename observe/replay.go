package observe

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"bareclaw/internal/wait"
	"bareclaw/observe/api"
	"bareclaw/observe/capture"
)

const (
	// replayTime bounds how long the app may take to answer a request that is sent again.
	replayTime = 30 * time.Second
	// capturePause is the time between two looks whether the request is captured.
	capturePause = 5 * time.Millisecond
)

// A replayer sends requests again, through the proxy.
type replayer struct {
	store  *capture.Store
	proxy  string // its address
	client *http.Client
}

func newReplayer(store *capture.Store, proxy string) *replayer {
	return &replayer{
		store: store,
		proxy: proxy,
		client: &http.Client{
			Transport: &http.Transport{
				DisableKeepAlives:  true,
				DisableCompression: true, // what the app was asked for before it is asked for again
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Replay implements [api.Replayer].
func (p *replayer) Replay(ctx context.Context, endpoint string) (api.Replayed, error) {
	before, ok := p.store.Replay(endpoint)
	if !ok {
		return api.Replayed{}, api.ErrNoReplay
	}
	ctx, cancel := context.WithTimeoutCause(ctx, replayTime, fmt.Errorf("the app has not answered within %s", replayTime))
	defer cancel()
	var trace capture.TraceID
	_, _ = rand.Read(trace[:]) // never fails
	status, err := p.send(ctx, &before, trace)
	if err != nil {
		return api.Replayed{}, fmt.Errorf("send the request again: %w", err)
	}
	request, err := p.await(ctx, trace)
	if err == nil {
		err = wait.Sleep(ctx, capture.PrintedFor) // the next one would hide which of them prints what
	}
	if err != nil {
		return api.Replayed{}, err
	}
	again := api.Replayed{
		RequestID: request.ID,
		Before:    before.Status,
		Status:    status,
	}
	if again.Before == http.StatusNotModified {
		again.Before = http.StatusOK // what the request would have got without its condition
	}
	return again, nil
}

// send sends a request in a new trace, and returns the status of the response.
func (p *replayer) send(ctx context.Context, before *capture.Replay, trace capture.TraceID) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, before.Method, p.proxy+before.URL, nil)
	if err != nil {
		return 0, err
	}
	for name, values := range before.Header {
		if !isLeftOut(name) {
			r.Header[name] = values
		}
	}
	r.Header.Set("Traceparent", fmt.Sprintf("00-%s-%s-01", trace, trace.String()[:16]))
	res, err := p.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// isLeftOut reports whether a header is left out of a request that is sent again: what a page adds, by which rules know the
// requests of one page; conditions, because an answer without a body proves nothing; what belongs to a connection or trace.
func isLeftOut(name string) bool {
	switch name {
	case "Referer", "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range",
		"Connection", "Upgrade", "Te", "Keep-Alive", "Transfer-Encoding", "Content-Length", "Tracestate":
		return true
	}
	return strings.HasPrefix(name, "Sec-Fetch-") || strings.HasPrefix(name, "Proxy-")
}

// await blocks until the request of a trace is captured whole.
func (p *replayer) await(ctx context.Context, trace capture.TraceID) (found *capture.Request, err error) {
	err = wait.Poll(ctx, capturePause, func() (bool, error) {
		if p.store.Off() {
			return false, errors.New("nothing is captured at present, after internal errors: try again in five minutes")
		}
		found = p.store.Traced(trace)
		return found != nil && found.End != capture.Pending, nil
	})
	return found, err
}
