package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/observe/capture"
)

// The pair of BenchmarkBare and BenchmarkProxy says what the proxy costs beside a bare reverse proxy, each
// in a process of its own: the latency of one client, and with 16 clients the time and the proxy's CPU a
// request. Compare runs of one hour: the machine differs more than the two.

func BenchmarkBare(b *testing.B) { benchmark(b, "bare") }

func BenchmarkProxy(b *testing.B) { benchmark(b, "proxy") }

// BenchmarkDirect has no proxy between.
func BenchmarkDirect(b *testing.B) { benchmark(b, "") }

// benchVariable says to a child which proxy it is, and where the app is.
const benchVariable = "PROXY_BENCH"

func TestMain(m *testing.M) {
	kind, app, isChild := strings.Cut(os.Getenv(benchVariable), " ")
	if isChild {
		if err := serveBench(kind, app); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serveBench is a proxy until its input ends.
func serveBench(kind, app string) error {
	u, err := url.Parse(app)
	if err != nil {
		return err
	}
	var handler http.Handler = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(u)
			r.SetXForwarded()
		},
		FlushInterval: -1,
		Transport:     newTransport(u.Hostname()),
	}
	if kind == "proxy" {
		store := capture.NewStore(capture.Options{})
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go store.Run(ctx)
		go drain(ctx, store)
		p := New(Options{Store: store})
		if err := p.SetTarget(u); err != nil {
			return err
		}
		handler = p
	}
	server := httptest.NewServer(handler)
	fmt.Println(server.URL)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func drain(ctx context.Context, store *capture.Store) {
	for {
		if _, err := store.Next(ctx); err != nil {
			return
		}
	}
}

// child starts a proxy and returns its address, and what ends it and reports what it has used.
func child(b *testing.B, kind, app string) (address string, end func()) {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), benchVariable+"="+kind+" "+app)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line), func() {
		_ = in.Close()
		if err := command.Wait(); err != nil {
			b.Error(err)
		}
		used := command.ProcessState
		took := used.UserTime() + used.SystemTime()
		b.ReportMetric(float64(took.Microseconds())/float64(b.N), "proxy-cpu-µs/op")
		if usage, ok := used.SysUsage().(*syscall.Rusage); ok && runtime.GOOS == "linux" {
			b.ReportMetric(float64(usage.Maxrss)/1024, "proxy-MiB")
		}
	}
}

func benchmark(b *testing.B, kind string) {
	reply := []byte(`{"users":[` + strings.Repeat(`{"id":1,"name":"ann","email":"ann@example.com"},`, 40) + `{}]}`)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(reply)
	}))
	b.Cleanup(app.Close)
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	b.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	get := func(address string) {
		response, err := client.Get(address + "/api/users/7?page=2")
		if err != nil {
			b.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	// within runs f with the address of the proxy, and reports its CPU.
	within := func(b *testing.B, f func(address string)) {
		if kind == "" {
			f(app.URL)
			return
		}
		address, end := child(b, kind, app.URL)
		f(address)
		b.StopTimer()
		end()
	}
	b.Run("latency", func(b *testing.B) {
		within(b, func(address string) {
			took := make([]time.Duration, 0, b.N)
			b.ResetTimer()
			for range b.N {
				begun := time.Now()
				get(address)
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		})
	})
	b.Run("load", func(b *testing.B) {
		within(b, func(address string) {
			b.SetParallelism(8)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					get(address)
				}
			})
		})
	})
}
