package mounts

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/internal/testkit/check"
)

// TestUnansweredDiscovery: a server that does not answer the first request of the newest protocol is greeted as an older
// one.
func TestUnansweredDiscovery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := sdk.NewServer(&sdk.Implementation{Name: "old", Version: "1"}, nil)
		server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
				if method == "server/discover" {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return next(ctx, method, r)
			}
		})
		here, there := sdk.NewInMemoryTransports()
		_, err := server.Connect(t.Context(), there, nil)
		check.OK(t, err)
		conn, err := here.Connect(t.Context())
		check.OK(t, err)
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		session, err := connect(ctx, conn, func() {})
		check.OK(t, err)
		if took := time.Since(began); took != discoverTimeout || session.InitializeResult().ProtocolVersion > "2025-11-25" {
			t.Errorf("the session of %s begins after %s", session.InitializeResult().ProtocolVersion, took)
		}
		cancel() // as when a start ends
		synctest.Wait()
		check.OK(t, session.Ping(t.Context(), nil))
		check.OK(t, conn.Close())
		_ = session.Wait() // the error says that it was closed
	})
}

// TestIsMessage: a line is a message if somebody can receive it.
func TestIsMessage(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                           true,
		`{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"x"}}`:    true,
		`{"jsonrpc":"2.0","id":-1,"result":{}}`:                          true,
		`{"jsonrpc":"2.0","method":"notifications/message"}`:             true,
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`:                       true,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`:   false,
		`{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}`:             false,
		`{"jsonrpc":"2.0","id":{"a":1},"result":{}}`:                     false,
		`{"jsonrpc":"2.0","id":[1],"method":"ping"}`:                     false,
		`{"jsonrpc":"2.0","id":true,"result":{}}`:                        false,
		`{"jsonrpc":"1.0","id":1,"result":{}}`:                           false,
		`Listening on port 80`:                                           false,
		``:                                                               false,
		`{"jsonrpc":"2.0","id":null,"method":"notifications/cancelled"}`: true,
	} {
		if isMessage([]byte(line)) != want {
			t.Errorf("%s is a message: %t", line, !want)
		}
	}
}
