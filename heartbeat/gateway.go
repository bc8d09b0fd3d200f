package heartbeat

import (
	"context"
	"net/http"
	"net/url"
	"time"

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

// A message is one of the gateway's, with its outcome if there is one.
type message struct {
	ID      string    `json:"message_id"`
	State   string    `json:"state"`
	Text    string    `json:"text"`
	Error   string    `json:"error"`
	Code    string    `json:"code"`
	Into    string    `json:"into"` // the message that has the answer, of those of one turn
	CostUSD float64   `json:"cost_usd"`
	TookMS  int64     `json:"duration_ms"`
	Why     string    `json:"why"`
	Until   time.Time `json:"until"` // set while it waits on a parked channel
}

func (m *message) open() bool   { return m.State == "waiting" || m.State == "running" }
func (m *message) parked() bool { return m.open() && !m.Until.IsZero() }

type health struct {
	Ready  bool `json:"ready"`
	PID    int  `json:"pid"`
	Ledger struct {
		Answered int64 `json:"answered"`
	} `json:"ledger"`
}

func (g gateway) health(ctx context.Context) (h health, err error) {
	return h, g.do(ctx, healthLimit, nil, http.MethodGet, "/health", nil, &h)
}

// post sends the agent a text, once for all requests with the same key.
func (g gateway) post(ctx context.Context, text, key string) (m message, err error) {
	header := http.Header{"Idempotency-Key": {key}, "Prefer": {"respond-async"}}
	in := map[string]string{"channel": Channel, "text": text}
	return m, g.do(ctx, requestLimit, header, http.MethodPost, "/message", in, &m)
}

// message returns a message as it is once it has its outcome, is found to wait on a
// parked channel, or a while has passed.
func (g gateway) message(ctx context.Context, id string, wait time.Duration) (m message, err error) {
	query := url.Values{"wait": {wait.String()}, "until": {"parked"}}
	err = g.do(ctx, wait+requestLimit, nil, http.MethodGet, "/messages/"+url.PathEscape(id)+"?"+query.Encode(), nil, &m)
	return m, err
}

// parkedUntil returns when the heartbeat's channel is tried again by itself, zero if it
// is not parked.
func (g gateway) parkedUntil(ctx context.Context) (time.Time, error) {
	var c struct {
		Until time.Time `json:"until"`
	}
	return c.Until, g.do(ctx, requestLimit, nil, http.MethodGet, "/channels/"+Channel, nil, &c)
}

// push sends a text to a channel's people, once for all requests with the same key.
func (g gateway) push(ctx context.Context, channel, text, key string) error {
	in := map[string]string{"channel": channel, "text": text}
	return g.do(ctx, sendLimit, http.Header{"Idempotency-Key": {key}}, http.MethodPost, "/send", in, nil)
}

func (g gateway) do(ctx context.Context, limit time.Duration, header http.Header, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return g.DoWith(ctx, method, path, header, in, out)
}
