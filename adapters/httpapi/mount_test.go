package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestMount holds that a mounted handler serves all paths below its prefix, behind the
// checks of the API.
func TestMount(t *testing.T) {
	t.Parallel()
	s := New(newGateway(t, nil).options(io.Discard))
	h := s.handler(tcpListener)
	s.Mount("/part", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Path)
	}))
	for host, want := range map[string]int{"localhost": http.StatusOK, "evil.example": http.StatusForbidden} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://"+host+"/part/a/b", nil))
		if w.Code != want || want == http.StatusOK && w.Body.String() != "/part/a/b" {
			t.Errorf("%s: got %d %s", host, w.Code, w.Body)
		}
	}
}
