package heartbeat

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
)

const (
	// healthLimit is how long a gateway that is well may take to say so.
	healthLimit = 5 * time.Second
	// requestLimit is the same for other requests, besides what they wait for.
	requestLimit = time.Minute
	// sendLimit is how long a push may take; the gateway gives up before.
	sendLimit = 3 * time.Minute
)

// A gateway is asked for what a tick needs of it.
type gateway struct{ *client.Client }

// parked reports whether a message waits on a parked channel.
func parked(m *api.Message) bool { return !m.Final() && !m.Until.IsZero() }

func (g gateway) health(ctx context.Context) (h api.Health, err error) {
	err = g.do(ctx, healthLimit, nil, http.MethodGet, api.PathHealth, nil, &h)
	if h.Ledger == nil { // the gateway could not read the ledger
		h.Ledger = &api.Ledger{}
	}
	return h, err
}

// post sends the agent a text, once for all requests with the same key.
func (g gateway) post(ctx context.Context, text, key string) (m api.Message, err error) {
	header := http.Header{api.HeaderIdempotencyKey: {key}, "Prefer": {"respond-async"}}
	in := api.MessageRequest{Channel: Channel, Text: text}
	return m, g.do(ctx, requestLimit, header, http.MethodPost, api.PathMessage, in, &m)
}

// message returns a message as it is once it has its outcome, is found to wait on a
// parked channel, or a while has passed.
func (g gateway) message(ctx context.Context, id string, wait time.Duration) (m api.Message, err error) {
	query := url.Values{"wait": {wait.String()}, "until": {api.UntilParked}}
	err = g.do(ctx, wait+requestLimit, nil, http.MethodGet, api.MessagePath(id)+"?"+query.Encode(), nil, &m)
	return m, err
}

// parkedUntil returns when the heartbeat's channel is tried again by itself, zero if it
// is not parked.
func (g gateway) parkedUntil(ctx context.Context) (time.Time, error) {
	var c api.Channel
	return c.Until, g.do(ctx, requestLimit, nil, http.MethodGet, api.ChannelPath(Channel), nil, &c)
}

// push sends a text to a channel's people, once for all requests with the same key.
func (g gateway) push(ctx context.Context, channel, text, key string) error {
	in := api.SendRequest{Channel: channel, Text: text}
	return g.do(ctx, sendLimit, http.Header{api.HeaderIdempotencyKey: {key}}, http.MethodPost, api.PathSend, in, nil)
}

func (g gateway) do(ctx context.Context, limit time.Duration, header http.Header, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return g.DoWith(ctx, method, path, header, in, out)
}
