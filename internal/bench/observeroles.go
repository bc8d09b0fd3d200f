package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/observe/discovery"
	observetools "bareclaw/observe/tools"
)

const (
	// observedRole makes this program a web app on the port in PORT.
	observedRole = "observed-app"
	// bareRole makes it a reverse proxy, from an address to another one.
	bareRole = "bare-proxy"
)

// serveRole is an app or a proxy until the process is ended; false: the arguments ask for neither.
func serveRole(args []string) bool {
	switch {
	case len(args) == 1 && args[0] == observedRole:
		fmt.Fprintln(os.Stderr, serveObserved("127.0.0.1:"+os.Getenv("PORT")))
	case len(args) == 3 && args[0] == bareRole:
		fmt.Fprintln(os.Stderr, serveBare(args[1], args[2]))
	default:
		return false
	}
	return true
}

// serveObserved is an app whose answers have 2 kB, some of them with a secret.
func serveObserved(address string) error {
	user := `{"id":1,"name":"Ann","team":"blue"}`
	plain := `{"users":[` + strings.Repeat(user+",", 60) + user + `]}`
	flawed := `{"id":1,"name":"Ann","password":"correct horse battery"}`
	reply := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, text)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/", reply(plain))
	mux.Handle("/flawed/", reply(flawed))
	server := &http.Server{
		Addr:              address,
		Handler:           mux,
		ReadHeaderTimeout: time.Minute,
	}
	return server.ListenAndServe()
}

// serveBare is a proxy that does nothing but pass on.
func serveBare(address, app string) error {
	const connections = 256
	to := &url.URL{Scheme: "http", Host: app}
	server := &http.Server{
		Addr:              address,
		ReadHeaderTimeout: time.Minute,
		Handler: &httputil.ReverseProxy{
			Transport: &http.Transport{
				MaxIdleConns:        connections,
				MaxIdleConnsPerHost: connections,
				DisableCompression:  true,
			},
			FlushInterval: -1,
			ErrorLog:      log.New(io.Discard, "", 0), // the app is not up at first
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(to)
				r.SetXForwarded()
			},
		},
	}
	return server.ListenAndServe()
}

// tools measures how soon tools answer, with the stores as full as they have become.
func (s *site) tools(ctx context.Context) (figures []figure, err error) {
	source := observetools.Source(observetools.Options{
		Observers: siteObservers{s},
		Dir:       func(core.ChannelKey) string { return s.record.Dir },
	})
	registry, err := tools.NewRegistry(tools.Options{
		Log:     slog.New(slog.DiscardHandler),
		Sources: []tools.Source{source},
	})
	if err != nil {
		return nil, err
	}
	found, err := registry.Call(ctx, "get_findings", tools.Call{Args: json.RawMessage(`{}`)})
	if err != nil {
		return nil, err
	}
	var list struct{ Total int }
	if err := json.Unmarshal(found.Structured, &list); err != nil {
		return nil, err
	}
	figures = append(figures, figure{id: "observe.findings", name: "findings", value: float64(list.Total)})
	for _, call := range []struct{ name, args string }{
		{"get_findings", `{}`},
		{"get_endpoints", `{}`},
		{"get_request_detail", `{"endpoint":"GET /flawed/bA"}`},
		{"verify_fix", `{"endpoint":"GET /flawed/bA"}`},
		{"get_report", `{}`},
	} {
		var took []time.Duration
		for range s.lab.plan.toolRequests {
			began := time.Now()
			result, err := registry.Call(ctx, call.name, tools.Call{Args: json.RawMessage(call.args)})
			if err == nil && result.IsError {
				err = fmt.Errorf("%s: %s", call.name, result.Text)
			}
			if err != nil {
				return nil, err
			}
			took = append(took, time.Since(began))
		}
		figures = append(figures, ms("observe."+call.name, call.name+" with full stores, p50", median(took)))
	}
	return figures, nil
}

// siteObservers are the observers of a site, for tools.
type siteObservers struct{ site *site }

// Records implements observe/tools.Observers.
func (o siteObservers) Records() ([]discovery.Record, error) { return o.site.records().All() }

// Start implements observe/tools.Observers.
func (siteObservers) Start(context.Context, observetools.Start) (discovery.Record, error) {
	return discovery.Record{}, errCannotSee
}

// Stop implements observe/tools.Observers.
func (siteObservers) Stop(context.Context, string) error { return errCannotSee }
