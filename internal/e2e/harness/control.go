package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// Asked waits until n tool permissions wait for an answer.
func (g *Gateway) Asked(n int) []Answer {
	g.T.Helper()
	var list []Answer
	g.Eventually("approvals wait", func() bool {
		list = g.Must("GET", "/approvals", nil, 200).Array("approvals")
		return len(list) == n
	})
	return list
}

// Send sends a request that Do cannot make and reads the response.
func (g *Gateway) Send(req *http.Request) (Answer, error) {
	resp, err := g.HTTP.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	a := Answer{Status: resp.StatusCode, Header: resp.Header}
	if a.Body, err = io.ReadAll(resp.Body); err != nil {
		return a, err
	}
	_ = json.Unmarshal(a.Body, &a.JSON) // what is not JSON has no fields
	return a, nil
}

// Token is the API token of gateways that need one.
const Token = "correct-horse-battery-staple"

// Bearer makes the gateway's client show the token.
func (g *Gateway) Bearer() *Gateway {
	with := *g
	c := *g.HTTP
	c.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+Token)
		return g.HTTP.Transport.RoundTrip(r)
	})
	with.HTTP = &c
	return &with
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Promised is how long a turn may take to end when it is interrupted.
const Promised = 2 * time.Second

// Lateness tells by how much a busy machine may have delayed what has happened since it was
// called: for how long any process waited for a processor or for a disk
// (https://docs.kernel.org/accounting/psi.html), and a minute where the kernel does not say.
func Lateness() (most func() time.Duration) {
	before, known := pressure()
	return func() time.Duration {
		now, still := pressure()
		if !known || !still {
			return time.Minute
		}
		return now - before
	}
}

func pressure() (stalled time.Duration, known bool) {
	for _, of := range []string{"cpu", "io"} {
		b, err := os.ReadFile("/proc/pressure/" + of)
		var share10, share60, share300 float64
		var micros int64
		if _, scanErr := fmt.Sscanf(string(b), "some avg10=%f avg60=%f avg300=%f total=%d", &share10, &share60, &share300, &micros); err != nil || scanErr != nil {
			return 0, false
		}
		stalled += time.Duration(micros) * time.Microsecond
	}
	return stalled, true
}

// StoppedWithin fails if the turn of a message took longer than limit plus late to end after
// the gateway had begun to end it, by the times of the gateway's own trace.
func (g *Gateway) StoppedWithin(id string, limit, late time.Duration) {
	g.T.Helper()
	var stop, end time.Time
	trace := g.Must("GET", "/messages/"+id+"/trace", nil, 200)
	for _, mark := range trace.Array("timeline") {
		at, err := time.Parse(time.RFC3339Nano, mark.Str("at"))
		switch what := mark.Str("what"); {
		case err != nil:
			g.T.Fatalf("a mark without a time: %s", mark.Body)
		case what == "stop":
			stop = at
		case what == "ended":
			end = at
		}
	}
	if stop.IsZero() || end.IsZero() {
		g.T.Fatalf("the trace has no stop and end: %s", trace.Body)
	}
	if took := end.Sub(stop); took > limit+late {
		g.T.Errorf("the turn ended %v after it was interrupted, want at most %v (the machine is late by %v)", took, limit, late)
	}
}
