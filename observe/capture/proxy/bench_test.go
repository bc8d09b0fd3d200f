package proxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/observe/capture"
)

// The pair of BenchmarkBare and BenchmarkProxy says what the proxy costs beside a bare reverse proxy: time
// and CPU a request with 8 clients, and the latency of one.

func BenchmarkBare(b *testing.B) {
	benchmark(b, func(app *url.URL) http.Handler {
		return &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(app)
				r.SetXForwarded()
			},
			FlushInterval: -1,
			Transport:     newTransport(app.Hostname()),
		}
	})
}

func BenchmarkProxy(b *testing.B) {
	benchmark(b, func(app *url.URL) http.Handler {
		store := capture.NewStore(capture.Options{})
		ctx, cancel := context.WithCancel(b.Context())
		b.Cleanup(cancel)
		go store.Run(ctx)
		go func() {
			for {
				if _, err := store.Next(ctx); err != nil {
					return
				}
			}
		}()
		p := New(Options{Store: store})
		if err := p.SetTarget(app); err != nil {
			b.Fatal(err)
		}
		return p
	})
}

func benchmark(b *testing.B, handler func(app *url.URL) http.Handler) {
	reply := []byte(`{"users":[` + strings.Repeat(`{"id":1,"name":"ann","email":"ann@example.com"},`, 40) + `{}]}`)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(reply)
	}))
	b.Cleanup(app.Close)
	address, err := url.Parse(app.URL)
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(handler(address))
	b.Cleanup(server.Close)
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	b.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	get := func() {
		response, err := client.Get(server.URL + "/api/users/7?page=2")
		if err != nil {
			b.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	b.Run("latency", func(b *testing.B) {
		var took []time.Duration
		for b.Loop() {
			begun := time.Now()
			get()
			took = append(took, time.Since(begun))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	})
	b.Run("load", func(b *testing.B) {
		begun := cpu(b)
		b.SetParallelism(8)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				get()
			}
		})
		b.ReportMetric(float64((cpu(b)-begun).Microseconds())/float64(b.N), "cpu-µs/op")
	})
}

// cpu returns what the process has used: client, proxy and app together.
func cpu(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
