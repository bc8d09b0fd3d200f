package api

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
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"bareclaw/internal/visible"
	"bareclaw/observe/findings"
)

// maxAnswer bounds what a Client reads of an answer, in bytes.
const maxAnswer = 32 << 20

// maxIdle bounds the connections that a Client keeps.
const maxIdle = 5

// Timeouts bound the requests of a Client.
type Timeouts struct {
	Fetch  time.Duration // of each request but the next two
	Health time.Duration // of Alive
	Replay time.Duration // of Replay, which waits for the app
}

// A Client uses the API of an observer, or of an app that contains brakit. All methods block until the answer is
// there or the time is over, and are safe for concurrent use.
type Client struct {
	base     string
	timeouts Timeouts
	http     *http.Client
}

// NewClient returns a client of the API at a base URL, such as http://127.0.0.1:4318. The client uses no proxy,
// follows no redirect, and keeps connections for a second.
func NewClient(base string, t Timeouts) *Client {
	return &Client{
		base:     strings.TrimSuffix(base, "/"),
		timeouts: t,
		http: &http.Client{
			Transport: &http.Transport{
				DialContext:         dial,
				MaxIdleConnsPerHost: maxIdle,
				IdleConnTimeout:     time.Second, // an app that ends must not be held up
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// dial connects to an address. Of localhost it takes IPv4 first, as observers do: another program may listen on the
// same port of IPv6.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := &net.Dialer{}
	port, isLocal := strings.CutPrefix(address, "localhost:")
	if !isLocal {
		return d.DialContext(ctx, network, address)
	}
	c, err := d.DialContext(ctx, network, "127.0.0.1:"+port)
	if err == nil {
		return c, nil
	}
	if c, second := d.DialContext(ctx, network, "[::1]:"+port); second == nil {
		return c, nil
	}
	return nil, err
}

// A StatusError is an answer that is no success.
type StatusError struct {
	Status int
	Text   string // what the API says is wrong; empty: nothing
}

// Error returns what the API says, on one line, or else the status.
func (e *StatusError) Error() string {
	if e.Text != "" {
		return visible.Line(e.Text)
	}
	return fmt.Sprintf("the API of the app has answered %d %s", e.Status, http.StatusText(e.Status))
}

// Alive returns why the API does not answer. It asks for a request that there is not: an observer need not look
// at all of them.
func (c *Client) Alive(ctx context.Context) error {
	var list struct {
		Requests *[]json.RawMessage `json:"requests"`
	}
	err := c.get(ctx, c.timeouts.Health, PathRequests, url.Values{"limit": {"1"}, "id": {"-"}}, &list)
	if err == nil && list.Requests == nil {
		err = errors.New("another program answers there")
	}
	return err
}

// Findings returns the findings that are chosen, and counts all that there are. brakit, which knows no choice,
// returns more than the limit, in an order of its own. Older versions of brakit list them elsewhere.
func (c *Client) Findings(ctx context.Context, choice Choice) ([]Finding, []Tally, error) {
	var list struct {
		Findings []anyFinding `json:"findings"`
		Issues   []anyFinding `json:"issues"`
		Tallies  []Tally      `json:"tallies"`
	}
	err := c.get(ctx, c.timeouts.Fetch, PathFindings, choice.query(), &list)
	if refused, ok := errors.AsType[*StatusError](err); ok && refused.Status == http.StatusNotFound {
		err = c.get(ctx, c.timeouts.Fetch, PathInsights, nil, &list)
	}
	if err != nil {
		return nil, nil, err
	}
	var chosen []Finding
	var traits []Traits
	for _, listed := range slices.Concat(list.Findings, list.Issues) {
		f := listed.finding()
		traits = append(traits, f.Traits())
		if choice.names(f.IssueID, f.Issue.Endpoint) && choice.Has(f.Traits()) {
			chosen = append(chosen, f)
		}
	}
	if list.Tallies == nil {
		list.Tallies = tally(traits)
	}
	return chosen, list.Tallies, nil
}

// anyFinding is a Finding of any version of brakit: older ones name two members otherwise.
type anyFinding struct {
	Finding

	OldID string `json:"findingId"`
	Old   *Issue `json:"finding"`
}

func (f *anyFinding) finding() Finding {
	f.IssueID = cmp.Or(f.IssueID, f.OldID)
	if f.Old != nil {
		f.Issue = *f.Old
	}
	return f.Finding
}

// ErrNoRequest means that a request is not kept, or none to an endpoint is.
var ErrNoRequest = errors.New("no such request is kept")

// Request returns a request. The error is ErrNoRequest if it is not kept.
func (c *Client) Request(ctx context.Context, id string) (Request, error) {
	found, err := c.requests(ctx, url.Values{"id": {id}}, func(r *Request) bool { return r.ID == id })
	if err != nil {
		return Request{}, err
	}
	if len(found) == 0 {
		return Request{}, ErrNoRequest
	}
	return found[0], nil
}

// Latest returns the latest request to an endpoint, such as GET /users/:id. The error is ErrNoRequest if none is
// kept.
func (c *Client) Latest(ctx context.Context, endpoint string) (Request, error) {
	found, err := c.LatestOf(ctx, endpoint, 1)
	if err != nil {
		return Request{}, err
	}
	if len(found) == 0 {
		return Request{}, ErrNoRequest
	}
	return found[0], nil
}

// LatestOf returns the latest requests to an endpoint, at most n, the newest first.
func (c *Client) LatestOf(ctx context.Context, endpoint string, n int) ([]Request, error) {
	method, pattern := splitEndpoint(endpoint)
	query := url.Values{}
	if method != "" {
		query.Set("method", method)
		query.Set("endpoint", endpoint)
		query.Set("limit", strconv.Itoa(min(n, maxLimit)))
	}
	matches := func(r *Request) bool {
		return (method == "" || r.Method == method) && (r.Endpoint == endpoint || matchesPath(pattern, r.Path))
	}
	found, err := c.requests(ctx, query, matches)
	if len(found) < n && err == nil && query.Has("limit") { // brakit has no such filter, so has returned others
		query.Del("limit")
		found, err = c.requests(ctx, query, matches)
	}
	return found[:min(n, len(found))], err
}

// requests returns the listed requests that match.
func (c *Client) requests(ctx context.Context, query url.Values, matches func(r *Request) bool) ([]Request, error) {
	var list RequestList
	err := c.get(ctx, c.timeouts.Fetch, PathRequests, query, &list)
	return slices.DeleteFunc(list.Requests, func(r Request) bool { return !matches(&r) }), err
}

// splitEndpoint returns the method and path of an endpoint; of a path alone the method is empty.
func splitEndpoint(endpoint string) (method, path string) {
	method, path, ok := strings.Cut(endpoint, " ")
	if !ok {
		return "", endpoint
	}
	return strings.ToUpper(method), strings.TrimSpace(path)
}

// matchesPath reports whether a path is one of an endpoint's: a segment such as :id stands for any.
func matchesPath(pattern, path string) bool {
	want := strings.Split(pattern, "/")
	got := strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i, segment := range want {
		if segment != got[i] && !strings.HasPrefix(segment, ":") {
			return false
		}
	}
	return true
}

// Activity returns what happened during a request.
func (c *Client) Activity(ctx context.Context, id string) (Timeline, error) {
	var a Activity
	err := c.get(ctx, c.timeouts.Fetch, PathActivity, url.Values{"requestId": {id}}, &a)
	return a.Timeline, err
}

// Endpoints returns the chosen endpoints of the app with their figures, and how many endpoints there are. Only of brakit
// they have those of single requests.
func (c *Client) Endpoints(ctx context.Context, choice EndpointChoice) (chosen []LiveEndpoint, total int, err error) {
	var list LiveList
	err = c.get(ctx, c.timeouts.Fetch, PathMetricsLive, choice.query(), &list)
	total = len(list.Endpoints)
	if list.Totals != nil {
		total = list.Totals.Endpoints
	}
	return choice.of(list.Endpoints), total, err
}

// Status returns how the observer itself does. Of brakit and older observers, which do not tell, it returns no problem.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	err := c.get(ctx, c.timeouts.Fetch, PathStatus, nil, &s)
	if refused, ok := errors.AsType[*StatusError](err); ok && refused.Status == http.StatusNotFound {
		return Status{}, nil
	}
	return s, err
}

// Totals returns how much was seen of the app.
func (c *Client) Totals(ctx context.Context) (Totals, error) {
	var list LiveList
	err := c.get(ctx, c.timeouts.Fetch, PathMetricsLive, url.Values{paramOnly: {onlyTotals}}, &list)
	if err != nil || list.Totals != nil {
		return *cmp.Or(list.Totals, &Totals{}), err
	}
	t := Totals{Endpoints: len(list.Endpoints)}
	for i := range list.Endpoints {
		t.Requests += list.Endpoints[i].Summary.TotalRequests
	}
	return t, nil
}

// Report says what became of the fix of a finding. brakit takes no status but fixed and wont_fix.
func (c *Client) Report(ctx context.Context, id string, status findings.FixStatus, note string) error {
	var answer done
	err := c.post(ctx, c.timeouts.Fetch, PathReport, Report{FindingID: id, Status: status, Notes: note}, &answer)
	if err == nil && !answer.OK {
		err = errors.New("the app has not taken the report")
	}
	return err
}

// Clear forgets all findings, and all that was captured.
func (c *Client) Clear(ctx context.Context) error {
	var answer done
	return c.post(ctx, c.timeouts.Fetch, PathClear, struct{}{}, &answer)
}

// Replay has the latest GET or HEAD request to an endpoint sent again. The error is a *StatusError with 404 if
// there is none, and if the API is brakit's, which does not send requests again.
func (c *Client) Replay(ctx context.Context, endpoint string) (Replayed, error) {
	var r Replayed
	err := c.post(ctx, c.timeouts.Replay, PathReplay, ReplayRequest{Endpoint: endpoint}, &r)
	return r, err
}

func (c *Client) get(ctx context.Context, atMost time.Duration, path string, query url.Values, out any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.do(ctx, atMost, http.MethodGet, path, nil, out)
}

func (c *Client) post(ctx context.Context, atMost time.Duration, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return c.do(ctx, atMost, http.MethodPost, path, body, out)
}

func (c *Client) do(ctx context.Context, atMost time.Duration, method, path string, body []byte, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, atMost, fmt.Errorf("the API of the app has not answered within %v", atMost))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body)) //nolint:gosec // the base is that of an app on this machine
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.http.Do(r) //nolint:gosec // likewise
	if err != nil {
		return plain(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return plain(ctx, err)
	case len(text) > maxAnswer:
		return fmt.Errorf("the API of the app has answered with more than %d MiB", maxAnswer>>20)
	case answer.StatusCode != http.StatusOK:
		var f failure
		_ = json.Unmarshal(text, &f) // else it says nothing
		return &StatusError{answer.StatusCode, f.Error}
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("understand the answer of the app's API: %w", err)
	}
	return nil
}

// plain returns why a request has failed, without its URL.
func plain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
