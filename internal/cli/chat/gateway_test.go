package chat

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"bareclaw/adapters/httpapi/client"
)

// TestInterruptThatComesTooLate: where the turn has ended meanwhile all is as was wanted,
// and nothing is said; anything else that keeps a turn from being ended is told.
func TestInterruptThatComesTooLate(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		status     int
		code, says string
	}{
		"ended":     {200, "", ""},
		"too late":  {409, "nothing_runs", ""},
		"conflict":  {409, "moved", "not so (moved)"},
		"forbidden": {403, "unauthorized", "not so (unauthorized)"},
		"overload":  {503, "storage_unavailable", "not so (storage_unavailable)"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost || r.URL.Path != "/channels/desk/interrupt" {
					t.Errorf("it asks %s %s", r.Method, r.URL.Path)
				}
				if body, err := io.ReadAll(r.Body); err != nil || string(body) != `{"turn_id":"turn-1"}` {
					t.Errorf("it sends %s: %v", body, err)
				}
				w.WriteHeader(row.status)
				if row.code != "" {
					_, _ = w.Write([]byte(`{"error":"not so (` + row.code + `)","code":"` + row.code + `"}`))
				}
			}))
			defer server.Close()
			address, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			g := gateway{o: Options{Channel: "desk", Client: client.OverTCP(address.Host, "")}}
			got, ok := g.interrupt(t.Context(), "turn-1").(told)
			if !ok || (got.err != nil) != (row.says != "") || got.err != nil && !strings.Contains(got.err.Error(), row.says) {
				t.Errorf("it is told %v, want %q", got.err, row.says)
			}
		})
	}
	gone := gateway{o: Options{Channel: "desk", Client: client.OverSocket(t.TempDir() + "/none.sock")}}
	if got, ok := gone.interrupt(t.Context(), "turn-1").(told); !ok || got.err == nil {
		t.Error("an interrupt that reached nobody is not told")
	}
}
