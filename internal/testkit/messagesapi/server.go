package messagesapi

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
)

// A Server is a stand-in listening on a loopback port of its own.
type Server struct {
	*Standin
	URL string // for ANTHROPIC_BASE_URL: "http://127.0.0.1:PORT", no slash at the end

	http    *http.Server
	running sync.WaitGroup // the accept loop and every handler
}

// Start runs a stand-in for the test and stops it when the test ends. Its
// requests are logged to the test's output.
func Start(t testing.TB) *Server {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := Listen(t.Context(), Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Listen runs a stand-in on a free port of 127.0.0.1 until [Server.Close]. The
// context bounds only the start.
func Listen(ctx context.Context, opts Options) (*Server, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the API stand-in: %w", err)
	}
	s := &Server{Standin: New(opts), URL: "http://" + l.Addr().String()}
	s.http = &http.Server{Handler: http.HandlerFunc(s.track)}
	s.running.Go(func() {
		// Serve returns when Close closes the listener, or when accepting
		// fails for good: clients then see refused connections.
		_ = s.http.Serve(l)
	})
	return s, nil
}

// track counts a running handler, so that Close can wait for it.
func (s *Server) track(w http.ResponseWriter, r *http.Request) {
	s.running.Add(1)
	defer s.running.Done()
	s.ServeHTTP(w, r)
}

// Close drops all connections, replies in progress included, and returns when
// every handler has ended. It may be called more than once.
func (s *Server) Close() {
	_ = s.http.Close()
	s.running.Wait()
}
