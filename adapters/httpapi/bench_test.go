package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

type nullWriter struct{ h http.Header }

func (w *nullWriter) Header() http.Header         { return w.h }
func (w *nullWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w *nullWriter) WriteHeader(int)             {}

// BenchmarkPostMessage measures the wait form without the network, with the core and the
// ledger behind it.
func BenchmarkPostMessage(b *testing.B) {
	h := New(newGateway(b, nil).options(io.Discard)).Handler()
	body := strings.NewReader("")
	r := httptest.NewRequest(http.MethodPost, "http://localhost/message", body)
	r.Header.Set("Content-Type", "application/json")
	b.ReportAllocs()
	for b.Loop() {
		body.Reset(`{"text":"hello there","channel":"k"}`)
		r.ContentLength = body.Size()
		h.ServeHTTP(&nullWriter{http.Header{}}, r)
	}
}
