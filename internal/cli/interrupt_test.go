package cli

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/command"
)

// TestInterruptNamesATurn: the request never asks for whichever turn runs when it arrives,
// also where none ran when the user asked.
func TestInterruptNamesATurn(t *testing.T) {
	t.Parallel()
	channel, asked := "", make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, channel)
			return
		}
		body, _ := io.ReadAll(r.Body)
		asked <- strings.TrimSpace(string(body))
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"error":"Nothing.","code":"nothing_runs"}`)
	}))
	defer server.Close()
	gateway := client.OverTCP(server.Listener.Addr().String(), "")
	for is, want := range map[string]string{`{}`: `{"turn_id":"none"}`, `{"turn_id":"t-1"}`: `{"turn_id":"t-1"}`} {
		channel = is
		err := (&channelInterrupt{Channel: "c"}).Run(&command.Context{Context: t.Context(), Out: io.Discard, Err: io.Discard}, gateway)
		if _, refused := errors.AsType[*client.Error](err); !refused {
			t.Fatalf("of %s it returns %v", is, err)
		}
		if got := <-asked; got != want {
			t.Errorf("of %s it asks %s", is, got)
		}
	}
}
