package observe

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"bareclaw/internal/testkit/webapps"
)

// TestExporters has flaws that only telemetry shows found, whichever form the exporters for JavaScript and Go send it in.
func TestExporters(t *testing.T) {
	t.Parallel()
	javaScript := language{
		name:  "JavaScript",
		fault: "TypeError: no item 17",
	}
	golang := language{
		name:  "Go",
		fault: "*errors.errorString: no item 17",
	}
	for name, c := range map[string]struct {
		app      func(t testing.TB) *webapps.App
		language language
		env      []string
		form     string // that the exporter sends
		knows    bool   // the values of queries, which makes "likely" sure
	}{
		"JavaScript": {
			app:      webapps.Express,
			language: javaScript,
			env:      []string{"OTEL_SEMCONV_STABILITY_OPT_IN=http,database"},
			form:     "application/x-protobuf",
		},
		"JavaScript with gzip": {
			app:      webapps.Express,
			language: javaScript,
			env:      []string{"OTEL_EXPORTER_OTLP_COMPRESSION=gzip"},
			form:     "application/x-protobuf gzip",
		},
		"JavaScript as JSON": {
			app:      webapps.Express,
			language: javaScript,
			env:      []string{"OTEL_EXPORTER_OTLP_PROTOCOL=http/json"},
			form:     "application/json",
		},
		"JavaScript as JSON with gzip": {
			app:      webapps.Express,
			language: javaScript,
			env: []string{
				"OTEL_EXPORTER_OTLP_PROTOCOL=http/json",
				"OTEL_EXPORTER_OTLP_COMPRESSION=gzip",
				"OTEL_SEMCONV_STABILITY_OPT_IN=http,database",
			},
			form: "application/json gzip",
		},
		"Go": {
			app:      webapps.Go,
			language: golang,
			form:     "application/x-protobuf",
		},
		"Go with gzip": {
			app:      webapps.Go,
			language: golang,
			env: []string{
				"OTEL_EXPORTER_OTLP_COMPRESSION=gzip",
				"VALUES=told",
			},
			form:  "application/x-protobuf gzip",
			knows: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := c.app(t)
			collector := newRelay(t)
			app.Env = append(app.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.address)
			app.Env = append(app.Env, c.env...)
			o := observe(t, app)
			collector.port.Store(int64(o.record.Port))
			plants := slices.DeleteFunc(c.language.plants(), func(p plant) bool { return p.rule != "n1" && p.rule != "error" })
			for i := range plants {
				plants[i].likely = plants[i].likely && !c.knows
			}
			plants = append(plants, acrossEndpoints())
			cycle(o, plants)
			compare(o, plants)
			if forms := collector.sent(); len(forms) != 1 || forms[0] != c.form {
				t.Errorf("the exporter sends %q, want %q", forms, c.form)
			}
		})
	}
}

// A relay passes on telemetry to an observer, and notes its form.
type relay struct {
	address string
	port    atomic.Int64 // of the observer's API; 0: it is not known yet

	// mu protects the field below.
	mu    sync.Mutex
	forms map[string]bool
}

// newRelay returns a relay, which ends with the test.
func newRelay(t *testing.T) *relay {
	t.Helper()
	r := &relay{forms: map[string]bool{}}
	pass := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&url.URL{
				Scheme: "http",
				Host:   fmt.Sprintf("127.0.0.1:%d", r.port.Load()),
			})
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		if r.port.Load() == 0 { // the exporter tries again
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.note(in)
		pass.ServeHTTP(w, in)
	}))
	t.Cleanup(server.Close)
	r.address = server.URL
	return r
}

// note notes the form of spans.
func (r *relay) note(in *http.Request) {
	if in.URL.Path != "/v1/traces" {
		return
	}
	form := in.Header.Get("Content-Type")
	if coding := in.Header.Get("Content-Encoding"); coding != "" {
		form += " " + coding
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forms[form] = true
}

// sent returns the forms that were sent.
func (r *relay) sent() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.forms))
}
