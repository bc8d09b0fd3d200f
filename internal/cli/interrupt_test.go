package cli

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/testkit/check"
)

// TestInterruptNamesATurn: the request never asks for whichever turn runs when it arrives,
// also where none ran when the user asked.
func TestInterruptNamesATurn(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "bc") // short enough for a socket
	check.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cfg := config.Config{RuntimeDir: dir}
	l, err := net.Listen("unix", client.Socket(cfg))
	check.OK(t, err)
	channel, asked := "", make(chan string, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, channel)
			return
		}
		body, _ := io.ReadAll(r.Body)
		asked <- strings.TrimSpace(string(body))
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"error":"Nothing.","code":"nothing_runs"}`)
	})}
	go func() { _ = server.Serve(l) }() // ends by Close
	t.Cleanup(func() { _ = server.Close() })
	for is, want := range map[string]string{`{}`: `{"turn_id":"none"}`, `{"turn_id":"t-1"}`: `{"turn_id":"t-1"}`} {
		channel = is
		c := &command.Context{Context: t.Context(), Settings: &cfg, Out: io.Discard, Err: io.Discard}
		err := (&ChannelInterrupt{Channel: "c"}).Run(c, client.Local(cfg))
		if _, refused := errors.AsType[*client.Error](err); !refused {
			t.Fatalf("of %s it returns %v", is, err)
		}
		if got := <-asked; got != want {
			t.Errorf("of %s it asks %s", is, got)
		}
	}
}
