package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

type nullWriter struct{ h http.Header }

func (w *nullWriter) Header() http.Header         { return w.h }
func (w *nullWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w *nullWriter) WriteHeader(int)             {}

// BenchmarkPostMessage measures the wait form without the network.
func BenchmarkPostMessage(b *testing.B) {
	f := newFake(b).echo()
	h := quietServer(b, f).Handler()
	body := strings.NewReader("")
	r := httptest.NewRequest(http.MethodPost, "http://localhost/message", body)
	r.Header.Set("Content-Type", "application/json")
	b.ReportAllocs()
	for b.Loop() {
		body.Reset(`{"text":"hello there","channel":"k"}`)
		r.ContentLength = body.Size()
		h.ServeHTTP(&nullWriter{http.Header{}}, r)
		f.messages = f.messages[:0] // the fake's own cost stays the same
	}
}
