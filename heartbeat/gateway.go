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
	// healthLimit is the timeout of a health check.
	healthLimit = 5 * time.Second
	// requestLimit is the timeout of all further requests, not counting requested waits.
	requestLimit = time.Minute
	// sendLimit is the timeout of a push; the gateway abandons a push earlier.
	sendLimit = 3 * time.Minute
)

// A gateway is an API client with the calls that a tick needs.
type gateway struct{ *client.Client }

// settled reports whether a run is final for the tick: the run is over, or the run's
// message waits on a parked channel.
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
	return h, g.do(ctx, healthLimit, http.MethodGet, api.PathHealth, nil, &h)
}

// run starts the run of a slot, or finds an existing run, and returns the run's state as
// soon as the run is over or wait has passed.
func (g gateway) run(ctx context.Context, slot time.Time, wait time.Duration) (o api.Occurrence, err error) {
	query := url.Values{"wait": {wait.String()}}
	return o, g.do(ctx, wait+sendLimit, http.MethodPost, api.SchedulePath(ID)+"/run?"+query.Encode(), api.RunRequest{Due: slot.UTC().Format(time.RFC3339)}, &o)
}

// runs returns the most recent runs.
func (g gateway) runs(ctx context.Context) ([]api.Occurrence, error) {
	var s api.Schedule
	err := g.do(ctx, requestLimit, http.MethodGet, api.SchedulePath(ID), nil, &s)
	return s.Occurrences, err
}

func (g gateway) do(ctx context.Context, limit time.Duration, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return g.Do(ctx, method, path, in, out)
}
