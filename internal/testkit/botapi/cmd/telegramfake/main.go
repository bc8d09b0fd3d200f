// Command telegramfake runs the Bot API server of the tests for clients in other
// languages, and for trying the daemon by hand:
//
//	go run ./internal/testkit/botapi/cmd/telegramfake [-addr HOST:PORT] [-control HOST:PORT] [-token TOKEN]
//
// It prints one line of JSON with the addresses and the token, and runs until it
// is interrupted. Users act through the control address, which anybody who
// reaches it may use; see control.go for what there is.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"bareclaw/internal/testkit/botapi"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "telegramfake:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("telegramfake", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:0", "where the Bot API listens")
	control := flags.String("control", "127.0.0.1:0", "where users are controlled")
	token := flags.String("token", botapi.DefaultToken, "the bot's token")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s, err := botapi.NewServer(botapi.WithAddress(*addr), botapi.WithToken(*token), botapi.AllowParseMode())
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := net.Listen("tcp", *control)
	if err != nil {
		return fmt.Errorf("listen for the control: %w", err)
	}
	web := &http.Server{Handler: newControl(s), ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = web.Close() })()
	where := map[string]string{"api": s.URL(), "token": s.Token(), "control": "http://" + l.Addr().String()}
	if err := json.NewEncoder(stdout).Encode(where); err != nil {
		return err
	}
	if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
