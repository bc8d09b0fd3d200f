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

// settled reports whether waiting longer shows nothing new of a run: the run is over, or
// its message waits on a parked channel.
func settled(o *api.Occurrence) bool {
	switch o.Outcome {
	case api.OutcomeDue:
		return false
	case api.OutcomeSent:
		return o.Answer != nil || o.Why != ""
	}
	return true
}

func (g gateway) health(ctx context.Context) (h api.Health, err error) {
	return h, g.do(ctx, healthLimit, nil, http.MethodGet, api.PathHealth, nil, &h)
}

// run asks for the run of a slot, and returns it as it is when it is over, or a while has
// passed.
func (g gateway) run(ctx context.Context, slot time.Time, wait time.Duration) (o api.Occurrence, err error) {
	query := url.Values{"wait": {wait.String()}}
	return o, g.do(ctx, wait+sendLimit, nil, http.MethodPost, api.SchedulePath(ID)+"/run?"+query.Encode(), api.RunRequest{Due: slot.UTC().Format(time.RFC3339)}, &o)
}

// runs returns the last runs.
func (g gateway) runs(ctx context.Context) ([]api.Occurrence, error) {
	var s api.Schedule
	err := g.do(ctx, requestLimit, nil, http.MethodGet, api.SchedulePath(ID), nil, &s)
	return s.Occurrences, err
}

// message returns a message that an older version has sent.
func (g gateway) message(ctx context.Context, id string) (m api.Message, err error) {
	return m, g.do(ctx, requestLimit, nil, http.MethodGet, api.MessagePath(id), nil, &m)
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
