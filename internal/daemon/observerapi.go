package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"bareclaw/adapters/httpapi"
	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/plainjson"
	"bareclaw/observe"
	observeapi "bareclaw/observe/api"
	"bareclaw/observe/discovery"
	"bareclaw/observe/findings"
	observetools "bareclaw/observe/tools"
)

// answerTime is how long an observer may take to say how it does.
const answerTime = time.Second

// observedApps tell clients of the API about the observers, and start and end them.
type observedApps struct{ of *observersPart }

// List implements [httpapi.Observers].
func (a observedApps) List(ctx context.Context) api.Observers { return a.of.list(ctx) }

// Start implements [httpapi.Observers].
func (a observedApps) Start(ctx context.Context, s api.StartObserver) (api.Observer, error) {
	start := observetools.Start{
		Dir:     filepath.Clean(s.Dir),
		Target:  s.Target,
		Port:    s.Port,
		Channel: core.ChannelKey(s.Channel),
	}
	r, err := a.of.start(ctx, start, observe.Notify(cmp.Or(s.Notify, api.NotifyTell)))
	if err != nil {
		return api.Observer{}, err
	}
	return showObserver(ctx, &r), nil
}

// Stop implements [httpapi.Observers].
func (a observedApps) Stop(ctx context.Context, id string) error { return a.of.Stop(ctx, id) }

// list returns the observers that run, each of which is asked how it does.
func (o *observersPart) list(ctx context.Context) api.Observers {
	running, err := o.records.Live()
	shown := api.Observers{
		Observers: make([]api.Observer, len(running)),
		Directory: string(o.records),
		Notify:    string(o.cfg.Observe.Notify),
		Port:      o.port,
		Prefixes:  o.push.Prefixes(),
	}
	if err != nil {
		shown.Notes = append(shown.Notes, mdtext.Ended("A record of an observer cannot be read: "+err.Error()))
	}
	var asked sync.WaitGroup
	for i := range running {
		asked.Go(func() { shown.Observers[i] = showObserver(ctx, &running[i]) })
	}
	asked.Wait()
	return shown
}

// showObserver returns an observer for clients of the API, with the figures that it tells.
func showObserver(ctx context.Context, r *discovery.Record) api.Observer {
	shown := api.Observer{
		ID:         r.ID,
		Dir:        r.Dir,
		Address:    r.Proxy,
		Target:     r.Target,
		Command:    r.Command,
		PID:        r.PID,
		Port:       r.Port,
		Channel:    r.Channel,
		Notify:     r.Notify,
		Started:    r.Started,
		Severities: map[string]int{},
	}
	if err := addFigures(ctx, &shown); err != nil {
		shown.Problem = err.Error()
	}
	return shown
}

// addFigures asks an observer for its figures.
func addFigures(ctx context.Context, shown *api.Observer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("it has not answered within %v", answerTime))
	defer cancel()
	client := observeapi.NewClient(observerURL(shown.Port).String(), observeapi.Timeouts{Fetch: 2 * answerTime})
	_, tallies, err := client.Findings(ctx, observeapi.Choice{Limit: 1}) // the counts alone matter
	if err != nil {
		return err
	}
	for _, t := range tallies {
		if t.State == findings.Resolved {
			shown.Resolved += t.Count
			continue
		}
		shown.Open += t.Count
		shown.Severities[string(t.Severity)] += t.Count
	}
	totals, err := client.Totals(ctx)
	shown.Requests = totals.Requests
	if err != nil {
		return err
	}
	status, err := client.Status(ctx)
	shown.Problems = status.Problems
	return err
}

// observerURL returns the URL of an observer's API on a port.
func observerURL(port int) *url.URL {
	return &url.URL{
		Scheme: "http",
		Host:   "127.0.0.1:" + strconv.Itoa(port),
	}
}

// apiMount passes requests on to the APIs of observers.
func (o *observersPart) apiMount() httpapi.Mount {
	return httpapi.Mount{
		Routes:   api.ObserverRoutes(),
		Handler:  http.HandlerFunc(o.passOn),
		Strip:    api.PathObservers + "/",
		IsStream: func(r *http.Request) bool { return r.Method == http.MethodGet && path.Base(r.URL.Path) == "events" },
	}
}

// passOn passes a request on whose path is the id of an observer, /api/ and that of its own API.
func (o *observersPart) passOn(w http.ResponseWriter, r *http.Request) {
	id, resource, ok := strings.Cut(r.URL.Path, "/api/")
	if !ok || path.Clean(resource) != resource || strings.HasPrefix(resource, ".") {
		refuse(w, http.StatusNotFound, api.NotFound, "There is nothing at this path; GET /openapi.yaml lists all paths.")
		return
	}
	record, err := o.find(id)
	if err != nil {
		refuse(w, http.StatusNotFound, api.NotFound, "No observer with this id runs; GET /observers lists all that do.")
		return
	}
	observer := observerURL(record.Port)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme = observer.Scheme
			p.Out.URL.Host = observer.Host
			p.Out.URL.Path = observeapi.Prefix + resource
			p.Out.URL.RawPath = ""
			p.Out.Host = observer.Host
			for _, name := range []string{"Authorization", "Cookie", "Origin", "Sec-Fetch-Site"} { // the gateway has judged them
				p.Out.Header.Del(name)
			}
		},
		ModifyResponse: func(answer *http.Response) error {
			for _, name := range []string{"Cache-Control", "X-Content-Type-Options"} { // the gateway has set them
				answer.Header.Del(name)
			}
			return nil
		},
		Transport: o.transport,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			refuse(w, http.StatusBadGateway, api.ObserverFailed, mdtext.Ended("The observer does not answer: "+err.Error()))
		},
	}
	proxy.ServeHTTP(w, r)
}

// refuse answers with an error of the API.
func refuse(w http.ResponseWriter, status int, code, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = plainjson.NewEncoder(w).Encode(api.Error{Error: text, Code: code}) // the client may have disconnected
}

// targetError makes an error of a target one that clients of the API can tell.
type targetError struct{ cause error }

// Error implements error.
func (e *targetError) Error() string { return e.cause.Error() }

// Is makes the error httpapi.ErrTarget too.
func (e *targetError) Is(target error) bool { return errors.Is(target, httpapi.ErrTarget) }
