package cli

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/internal/cli/command"
)

// TestInterruptNamesATurn: the request never asks for whichever turn runs when it arrives,
// also where none ran when the user asked.
func TestInterruptNamesATurn(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "bc") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cfg := config.Config{RuntimeDir: dir}
	l, err := net.Listen("unix", client.Socket(cfg))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ channel, asked string }{{`{}`, `{"turn_id":"none"}`}, {`{"turn_id":"t-1"}`, `{"turn_id":"t-1"}`}} {
		var asked []byte
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodGet {
				_, _ = io.WriteString(w, c.channel)
				return
			}
			asked, _ = io.ReadAll(r.Body)
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"error":"Nothing.","code":"nothing_runs"}`)
		}))
		_ = server.Listener.Close()
		if server.Listener = l; l == nil {
			t.Fatal("no listener")
		}
		server.Start()
		err := (&ChannelInterrupt{Channel: "c"}).Run(&command.Context{Context: t.Context(), Settings: &cfg, Out: os.Stdout, Err: os.Stderr})
		server.Close()
		if _, refused := errors.AsType[*client.Error](err); !refused || strings.TrimSpace(string(asked)) != c.asked {
			t.Errorf("of %s it asks %s, and returns %v", c.channel, asked, err)
		}
		if l, err = net.Listen("unix", client.Socket(cfg)); err != nil {
			t.Fatal(err)
		}
	}
	_ = l.Close()
}
